package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand"
	"time"

	. "checks"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

func produce() {
	Check("produce: keys, values, headers and times come back as they went in", func() {
		topic := newTopic(1)
		at := time.UnixMilli(1_700_000_000_123)
		sent := []*kgo.Record{
			{Topic: topic, Key: []byte("k"), Value: []byte("v"), Timestamp: at},
			{Topic: topic, Value: []byte{}, Timestamp: at.Add(time.Millisecond), Headers: []kgo.RecordHeader{
				{Key: "one", Value: []byte("1")}, {Key: "one", Value: []byte{0, 255}}, {Key: "", Value: nil}}},
			{Topic: topic, Key: []byte("gone"), Value: nil, Timestamp: at},
			{Topic: topic, Key: []byte("Ünicode ✓"), Value: []byte{0, 1, 2, 255}, Timestamp: at},
		}
		send(sent)
		for offset, found := range everything(topic, len(sent)) {
			wanted := sent[offset]
			Equal(found.Offset, int64(offset))
			Equal(found.Key, wanted.Key)
			Equal(found.Value, wanted.Value)
			Equal(found.Headers, wanted.Headers)
			Equal(found.Timestamp.UnixMilli(), wanted.Timestamp.UnixMilli())
		}
	})
	for name, options := range map[string][]kgo.Opt{
		"of all in sync, idempotent": {},
		"of all in sync":             {kgo.DisableIdempotentWrite()},
		"of the leader":              {kgo.DisableIdempotentWrite(), kgo.RequiredAcks(kgo.LeaderAck())},
		"of nobody":                  {kgo.DisableIdempotentWrite(), kgo.RequiredAcks(kgo.NoAck())},
	} {
		Check("produce: with acknowledgement "+name, func() {
			topic := newTopic(1)
			send(on(topic, 0, numbers(0, 100)...), options...)
			Equal(values(everything(topic, 100)), numbers(0, 100))
		})
	}
	Check("produce: answers tell offsets", func() {
		topic := newTopic(1)
		for round := range 3 {
			for at, result := range send(on(topic, 0, "a", "b")) {
				Equal(result.Record.Offset, int64(2*round+at))
			}
		}
	})
	Check("produce: twenty thousand records keep their order, with many batches on their way", func() {
		topic := newTopic(3)
		producer := client(kgo.DefaultProduceTopic(topic), kgo.ProducerBatchMaxBytes(16_000), kgo.ProducerLinger(0),
			kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
		defer producer.Close()
		for number := range 20_000 {
			producer.Produce(ctx, kgo.StringRecord(fmt.Sprint(number)), nil)
		}
		Must(producer.Flush(ctx))
		consumer := client(kgo.ConsumeTopics(topic), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()))
		defer consumer.Close()
		last, count := map[int32]int{0: -1, 1: -1, 2: -1}, 0
		for _, each := range take(consumer, 20_000) {
			var number int
			Got(fmt.Sscan(string(each.Value), &number))
			True(number > last[each.Partition], "%d comes after %d", number, last[each.Partition])
			last[each.Partition] = number
			count++
		}
		Equal(count, 20_000)
	})
	Check("produce: a large record, and one as large as a topic allows", func() {
		topic := newTopic(1, "max.message.bytes", "5000000")
		for _, size := range []int{900_000, 4_900_000} {
			value := make([]byte, size)
			rand.New(rand.NewSource(1)).Read(value)
			send([]*kgo.Record{{Topic: topic, Value: value}}, kgo.ProducerBatchMaxBytes(6_000_000))
		}
		found := everything(topic, 2, kgo.FetchMaxPartitionBytes(1_000))
		Equal([]int{len(found[0].Value), len(found[1].Value)}, []int{900_000, 4_900_000})
	})
	Check("produce: refused: larger than a topic allows", func() {
		topic := newTopic(1, "max.message.bytes", "1000")
		producer := client(kgo.ProducerBatchCompression(kgo.NoCompression()))
		defer producer.Close()
		err := producer.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: bytes.Repeat([]byte("x"), 2_000)}).FirstErr()
		Refused(err, kerr.MessageTooLarge)
		Must(producer.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte("fits")}).FirstErr())
	})
	Check("produce: refused: unknown topics and partitions", func() {
		producer := client(kgo.UnknownTopicRetries(0), kgo.RecordPartitioner(kgo.ManualPartitioner()))
		defer producer.Close()
		err := producer.ProduceSync(ctx, &kgo.Record{Topic: Unique("unknown"), Value: []byte("lost")}).FirstErr()
		Refused(err, kerr.UnknownTopicOrPartition)
		True(producer.ProduceSync(ctx, on(newTopic(1), 1, "lost")...).FirstErr() != nil, "partition 1 is refused")
	})
	Check("produce: refused: a record without a key for a compacted topic", func() {
		topic := newTopic(1, "cleanup.policy", "compact")
		producer := client(kgo.RecordRetries(0))
		defer producer.Close()
		Refused(producer.ProduceSync(ctx, on(topic, 0, "lost")...).FirstErr(), kerr.InvalidRecord)
	})
	Check("produce: times are the log's where a topic says so", func() {
		topic := newTopic(1, "message.timestamp.type", "LogAppendTime")
		before := time.Now()
		send([]*kgo.Record{{Topic: topic, Value: []byte("a"), Timestamp: time.UnixMilli(1)}})
		found := everything(topic, 1)[0]
		True(!found.Timestamp.Before(before.Truncate(time.Millisecond)), "it is from now")
		Equal(found.Attrs.TimestampType(), int8(1))
	})
	for name, partitioner := range map[string]kgo.Partitioner{
		"sticky":        kgo.StickyPartitioner(),
		"by key":        kgo.StickyKeyPartitioner(nil),
		"round robin":   kgo.RoundRobinPartitioner(),
		"least backup":  kgo.LeastBackupPartitioner(),
		"uniform bytes": kgo.UniformBytesPartitioner(1_000, true, true, nil),
	} {
		Check("produce: partitioner "+name, func() {
			topic := newTopic(4)
			producer := client(kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(partitioner))
			defer producer.Close()
			homes := map[string]int32{}
			for number := range 200 {
				record := kgo.KeyStringRecord(fmt.Sprint("key", number%20), "value")
				Must(producer.ProduceSync(ctx, record).FirstErr())
				home, known := homes[string(record.Key)]
				True(name != "by key" || !known || home == record.Partition, "%s has one partition", record.Key)
				homes[string(record.Key)] = record.Partition
			}
			Equal(int(endOf(topic)), 200)
		})
	}
	Check("produce: Java's partition for a key", func() {
		topic := newTopic(10)
		producer := client(kgo.DefaultProduceTopic(topic))
		defer producer.Close()
		record := kgo.KeyStringRecord("foobar", "")
		Must(producer.ProduceSync(ctx, record).FirstErr())
		// murmur2("foobar") is -790332482 in Java.
		Equal(record.Partition, int32((-790332482&0x7fffffff)%10))
	})
	Check("produce: a batch that is sent twice is there once", func() {
		topic := newTopic(1)
		producer := client(kgo.DefaultProduceTopic(topic), kgo.Dialer(losesFirstAnswer()),
			kgo.RequestTimeoutOverhead(time.Second), kgo.ProduceRequestTimeout(100*time.Millisecond))
		defer producer.Close()
		patience, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		Must(producer.ProduceSync(patience, kgo.StringRecord("once")).FirstErr())
		Must(producer.ProduceSync(patience, kgo.StringRecord("twice")).FirstErr())
		Equal(values(everything(topic, 2)), []string{"once", "twice"})
		Equal(int(endOf(topic)), 2)
	})
	Check("produce: producers with numbers are described", func() {
		topic := newTopic(1)
		producer := client(kgo.DefaultProduceTopic(topic))
		defer producer.Close()
		Must(producer.ProduceSync(ctx, kgo.StringRecord("a"), kgo.StringRecord("b")).FirstErr())
		id, epoch, err := producer.ProducerID(ctx)
		Must(err)
		told := Got(admin.DescribeProducers(ctx, kadm.TopicsSet{topic: {0: {}}}))[topic].Partitions[0].ActiveProducers[id]
		Equal(told.ProducerEpoch, epoch)
		Equal(told.LastSequence, 1)
	})
}

// endOf is the sum of a topic's end offsets.
func endOf(topic string) (sum int64) {
	Got(admin.ListEndOffsets(ctx, topic)).Each(func(each kadm.ListedOffset) { sum += each.Offset })
	return sum
}
