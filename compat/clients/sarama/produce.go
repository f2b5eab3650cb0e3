package main

import (
	"bytes"
	"fmt"
	"math/rand"
	"time"

	. "checks"

	"github.com/IBM/sarama"
)

func idempotent(each *sarama.Config) {
	each.Producer.Idempotent = true
	each.Producer.RequiredAcks = sarama.WaitForAll
	each.Net.MaxOpenRequests = 1
}

// ends are the end offsets of a topic's partitions, added up.
func ends(topic string) (sum int64) {
	one := client()
	defer one.Close()
	for _, partition := range Got(one.Partitions(topic)) {
		sum += Got(one.GetOffset(topic, partition, sarama.OffsetNewest))
	}
	return sum
}

func produce() {
	Check("produce: keys, values, headers and times come back as they went in", func() {
		topic, at := newTopic(1), time.UnixMilli(1_700_000_000_123)
		sent := []*sarama.ProducerMessage{
			{Key: sarama.ByteEncoder("k"), Value: sarama.ByteEncoder("v")},
			{Value: sarama.ByteEncoder{}, Headers: []sarama.RecordHeader{{Key: []byte("one"), Value: []byte("1")},
				{Key: []byte("one"), Value: []byte{0, 255}}, {Key: []byte{}, Value: nil}}},
			{Key: sarama.ByteEncoder("gone")},
			{Key: sarama.ByteEncoder("Ünicode ✓"), Value: sarama.ByteEncoder{0, 1, 2, 255}},
		}
		for number, each := range sent {
			each.Topic, each.Timestamp = topic, at.Add(time.Duration(number)*time.Millisecond)
		}
		Must(send(sent))
		encoded := func(from sarama.Encoder) []byte {
			if from == nil {
				return nil
			}
			return Got(from.Encode())
		}
		for offset, found := range everything(topic, len(sent)) {
			wanted := sent[offset]
			Equal(found.Offset, int64(offset))
			Equal(found.Key, encoded(wanted.Key))
			Equal(found.Value, encoded(wanted.Value))
			Equal(found.Timestamp.UnixMilli(), wanted.Timestamp.UnixMilli())
			Equal(len(found.Headers), len(wanted.Headers))
			for number, header := range found.Headers {
				Equal(*header, wanted.Headers[number])
			}
		}
	})
	for name, change := range map[string]func(*sarama.Config){
		"of all in sync, idempotent": idempotent,
		"of all in sync":             func(each *sarama.Config) { each.Producer.RequiredAcks = sarama.WaitForAll },
		"of the leader":              func(each *sarama.Config) { each.Producer.RequiredAcks = sarama.WaitForLocal },
		"of nobody":                  func(each *sarama.Config) { each.Producer.RequiredAcks = sarama.NoResponse },
	} {
		Check("produce: with acknowledgement "+name, func() {
			topic := newTopic(1)
			Must(send(on(topic, 0, numbers(0, 100)...), change))
			Equal(values(everything(topic, 100)), numbers(0, 100))
		})
	}
	Check("produce: answers tell partitions and offsets", func() {
		topic := newTopic(2)
		producer := Got(sarama.NewSyncProducer([]string{Bootstrap()}, config()))
		defer producer.Close()
		for wanted := range int64(3) {
			partition, offset, err := producer.SendMessage(on(topic, 1, "some")[0])
			Must(err)
			Equal(partition, 1)
			Equal(offset, wanted)
		}
	})
	Check("produce: twenty thousand records keep their order, without waiting for answers", func() {
		topic := newTopic(1)
		producer := Got(sarama.NewAsyncProducer([]string{Bootstrap()}, config(idempotent, func(each *sarama.Config) {
			each.Producer.Flush.MaxMessages = 500
		})))
		go func() {
			for _, each := range on(topic, 0, numbers(0, 20_000)...) {
				producer.Input() <- each
			}
		}()
		for range 20_000 {
			select {
			case <-producer.Successes():
			case err := <-producer.Errors():
				panic(err)
			}
		}
		Must(producer.Close())
		Equal(values(everything(topic, 20_000)), numbers(0, 20_000))
	})
	large := func(each *sarama.Config) {
		each.Producer.MaxMessageBytes, each.Consumer.Fetch.Default = 6_000_000, 1_000
	}
	Check("produce: a large record, and one as large as a topic allows", func() {
		topic := newTopic(1, "max.message.bytes", "5000000")
		for _, size := range []int{900_000, 4_900_000} {
			value := make(sarama.ByteEncoder, size)
			rand.New(rand.NewSource(1)).Read(value)
			Must(send([]*sarama.ProducerMessage{{Topic: topic, Value: value}}, large))
		}
		found := everything(topic, 2, large)
		Equal([]int{len(found[0].Value), len(found[1].Value)}, []int{900_000, 4_900_000})
	})
	Check("produce: refused: larger than a topic allows", func() {
		topic := newTopic(1, "max.message.bytes", "1000")
		Refused(send([]*sarama.ProducerMessage{{Topic: topic, Value: sarama.ByteEncoder(bytes.Repeat([]byte("x"), 2_000))}}),
			sarama.ErrMessageSizeTooLarge)
		Must(send(on(topic, 0, "fits")))
	})
	Check("produce: refused: unknown topics and partitions", func() {
		Refused(send(on(Unique("unknown"), 0, "lost")), sarama.ErrUnknownTopicOrPartition)
		Refused(send(on(newTopic(1), 1, "lost")), sarama.ErrInvalidPartition)
	})
	Check("produce: refused: a record without a key for a compacted topic", func() {
		Refused(send(on(newTopic(1, "cleanup.policy", "compact"), 0, "lost")), sarama.ErrInvalidRecord)
	})
	Check("produce: times are the log's where a topic says so", func() {
		topic, before := newTopic(1, "message.timestamp.type", "LogAppendTime"), time.Now()
		Must(send([]*sarama.ProducerMessage{{Topic: topic, Value: sarama.StringEncoder("a"), Timestamp: time.UnixMilli(1)}}))
		True(!everything(topic, 1)[0].Timestamp.Before(before.Truncate(time.Millisecond)), "it is from now")
	})
	for name, partitioner := range map[string]sarama.PartitionerConstructor{
		"random": sarama.NewRandomPartitioner, "round robin": sarama.NewRoundRobinPartitioner, "hash": sarama.NewHashPartitioner,
		"reference hash": sarama.NewReferenceHashPartitioner, "crc": sarama.NewConsistentCRCHashPartitioner,
		"murmur2": sarama.NewMurmur2Partitioner,
	} {
		Check("produce: partitioner "+name, func() {
			topic := newTopic(4)
			producer := Got(sarama.NewSyncProducer([]string{Bootstrap()}, config(func(each *sarama.Config) {
				each.Producer.Partitioner = partitioner
			})))
			defer producer.Close()
			homes := map[string]int32{}
			for number := range 100 {
				key := fmt.Sprint("key", number%20)
				home, _, err := producer.SendMessage(&sarama.ProducerMessage{Topic: topic, Key: sarama.StringEncoder(key)})
				Must(err)
				before, known := homes[key]
				True(name == "random" || name == "round robin" || !known || home == before, "%s has one partition", key)
				homes[key] = home
			}
			Equal(ends(topic), 100)
		})
	}
	for name, codec := range map[string]sarama.CompressionCodec{
		"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP, "snappy": sarama.CompressionSnappy,
		"lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD,
	} {
		var wanted []string
		for number := range 500 {
			wanted = append(wanted, fmt.Sprintf("record %d of the same words, of the same words", number))
		}
		Check("codecs: "+name, func() {
			topic := newTopic(1)
			Must(send(on(topic, 0, wanted...), func(each *sarama.Config) { each.Producer.Compression = codec }))
			Equal(values(everything(topic, 500)), wanted)
		})
		Check("codecs: "+name+" by the topic's config, whatever is sent", func() {
			topic := newTopic(1, "compression.type", map[bool]string{true: "uncompressed", false: name}[name == "none"])
			Must(send(on(topic, 0, wanted...), func(each *sarama.Config) { each.Producer.Compression = sarama.CompressionSnappy }))
			Equal(values(everything(topic, 500)), wanted)
		})
	}
}
