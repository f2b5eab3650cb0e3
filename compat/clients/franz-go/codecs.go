package main

import (
	"fmt"

	. "checks"

	"github.com/twmb/franz-go/pkg/kgo"
)

var codecs = map[string]int{"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}

func long(count int) (made []string) {
	for number := range count {
		made = append(made, fmt.Sprintf("record %d of the same words, of the same words", number))
	}
	return made
}

func compress() {
	for name, codec := range map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	} {
		Check("codecs: "+name, func() {
			topic, wanted := newTopic(1), long(500)
			send(on(topic, 0, wanted...), kgo.ProducerBatchCompression(codec))
			found := everything(topic, 500)
			Equal(values(found), wanted)
			Equal(found[0].Attrs.CompressionType(), uint8(codecs[name]))
		})
		Check("codecs: "+name+" by the topic's config, whatever is sent", func() {
			config := map[string]string{"none": "uncompressed"}[name]
			if config == "" {
				config = name
			}
			topic, wanted := newTopic(1, "compression.type", config), long(500)
			send(on(topic, 0, wanted...), kgo.ProducerBatchCompression(kgo.SnappyCompression()))
			found := everything(topic, 500)
			Equal(values(found), wanted)
			Equal(found[0].Attrs.CompressionType(), uint8(codecs[name]))
		})
	}
	Check("codecs: compressed as the batch is written", func() {
		topic, wanted := newTopic(1), long(500)
		send(on(topic, 0, wanted...), kgo.ProducerBatchCompression(kgo.ZstdCompression()), kgo.StreamingCompression())
		Equal(values(everything(topic, 500)), wanted)
	})
}
