package main

import (
	"context"
	"time"

	. "checks"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// timed has ten records, one a second from second 100 on, in one batch.
func timed() string {
	topic := newTopic(1)
	records := on(topic, 0, numbers(0, 10)...)
	for at, each := range records {
		each.Timestamp = time.UnixMilli(int64(100+at) * 1_000)
	}
	send(records)
	return topic
}

func consume() {
	for name, one := range map[string]struct {
		start  kgo.Offset
		wanted []string
	}{
		"the beginning":             {kgo.NewOffset().AtStart(), numbers(0, 10)},
		"an offset within a batch":  {kgo.NewOffset().At(7), numbers(7, 10)},
		"three before the end":      {kgo.NewOffset().AtEnd().Relative(-3), numbers(7, 10)},
		"two after the beginning":   {kgo.NewOffset().AtStart().Relative(2), numbers(2, 10)},
		"a time":                    {kgo.NewOffset().AfterMilli(104_500), numbers(5, 10)},
		"the time of a record":      {kgo.NewOffset().AfterMilli(104_000), numbers(4, 10)},
		"a time before all records": {kgo.NewOffset().AfterMilli(1), numbers(0, 10)},
	} {
		Check("consume: from "+name, func() {
			consumer := from(timed(), one.start)
			defer consumer.Close()
			Equal(values(take(consumer, len(one.wanted))), one.wanted)
		})
	}
	Check("consume: from the end, where a record arrives while it waits", func() {
		topic := timed()
		consumer := client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtEnd()}}),
			kgo.FetchMaxWait(10*time.Second))
		defer consumer.Close()
		True(nothing(consumer), "there is nothing new")
		began := time.Now()
		send(on(topic, 0, "new"))
		Equal(values(take(consumer, 1)), []string{"new"})
		True(time.Since(began) < 5*time.Second, "it came at once")
	})
	Check("consume: several partitions and topics", func() {
		one, other := newTopic(3), newTopic(2)
		for partition := range int32(3) {
			send(on(one, partition, numbers(0, 50)...))
		}
		send(on(other, 1, numbers(0, 50)...))
		consumer := client(kgo.ConsumeTopics(one, other), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()))
		defer consumer.Close()
		next := map[kadm.TopicID]int64{}
		for _, each := range take(consumer, 200) {
			key := kadm.TopicID{each.Topic[len(each.Topic)-1], byte(each.Partition)}
			Equal(each.Offset, next[key])
			next[key]++
		}
	})
	Check("consume: partitions are added and removed", func() {
		topic := newTopic(2)
		send(on(topic, 0, "zero"))
		send(on(topic, 1, "one"))
		consumer := from(topic, kgo.NewOffset().AtStart())
		defer consumer.Close()
		Equal(values(take(consumer, 1)), []string{"zero"})
		consumer.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: {1: kgo.NewOffset().AtStart()}})
		Equal(values(take(consumer, 1)), []string{"one"})
		consumer.RemoveConsumePartitions(map[string][]int32{topic: {0}})
		send(on(topic, 0, "unseen"))
		send(on(topic, 1, "seen"))
		Equal(values(take(consumer, 1)), []string{"seen"})
	})
	Check("consume: paused and resumed", func() {
		topic := timed()
		consumer := from(topic, kgo.NewOffset().AtStart())
		defer consumer.Close()
		take(consumer, 10)
		consumer.PauseFetchPartitions(map[string][]int32{topic: {0}})
		send(on(topic, 0, "later"))
		True(nothing(consumer), "it is paused")
		consumer.ResumeFetchPartitions(map[string][]int32{topic: {0}})
		Equal(values(take(consumer, 1)), []string{"later"})
	})
	Check("consume: set back within a batch, and forward", func() {
		topic := timed()
		consumer := client(kgo.ConsumeTopics(topic), kgo.ConsumerGroup(Unique("group")),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
		defer consumer.Close()
		take(consumer, 10)
		for _, offset := range []int64{4, 9, 0} {
			consumer.SetOffsets(map[string]map[int32]kgo.EpochOffset{topic: {0: {Epoch: -1, Offset: offset}}})
			Equal(values(take(consumer, 1)), numbers(int(offset), 10))
		}
	})
	Check("consume: a few records at a time", func() {
		consumer := from(timed(), kgo.NewOffset().AtStart())
		defer consumer.Close()
		for number := 0; number < 9; number += 3 {
			Equal(values(consumer.PollRecords(ctx, 3).Records()), numbers(number, number+3))
		}
	})
	Check("consume: as little as a fetch may bring", func() {
		topic := newTopic(1)
		for _, value := range numbers(0, 20) {
			send(on(topic, 0, value))
		}
		tiny := []kgo.Opt{kgo.FetchMaxPartitionBytes(1), kgo.FetchMaxBytes(1), kgo.BrokerMaxReadBytes(1 << 20)}
		Equal(values(everything(topic, 20, tiny...)), numbers(0, 20))
	})
	Check("consume: without a fetch session", func() {
		Equal(values(everything(timed(), 10, kgo.DisableFetchSessions())), numbers(0, 10))
	})
	Check("consume: only what is committed, where nothing is not", func() {
		Equal(values(everything(timed(), 10, kgo.FetchIsolationLevel(kgo.ReadCommitted()))), numbers(0, 10))
	})
	Check("consume: out of range begins where it is told to", func() {
		topic := timed()
		consumer := from(topic, kgo.NewOffset().At(1_000), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
		defer consumer.Close()
		Equal(values(take(consumer, 10)), numbers(0, 10))
	})
	Check("consume: out of range is an error where it is told so", func() {
		consumer := from(timed(), kgo.NewOffset().At(1_000), kgo.ConsumeResetOffset(kgo.NoResetOffset()))
		defer consumer.Close()
		patience, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		Refused(consumer.PollFetches(patience).Err(), kerr.OffsetOutOfRange)
	})
	Check("consume: an unknown topic is an error", func() {
		consumer := from(Unique("unknown"), kgo.NewOffset().AtStart(), kgo.KeepRetryableFetchErrors())
		defer consumer.Close()
		patience, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		Refused(consumer.PollFetches(patience).Err(), kerr.UnknownTopicOrPartition)
	})
	Check("consume: offsets of the beginning, the end, a time, and the latest time", func() {
		topic := timed()
		at := func(listed kadm.ListedOffsets, err error) kadm.ListedOffset {
			Must(err)
			found, _ := listed.Lookup(topic, 0)
			Must(found.Err)
			return found
		}
		Equal(at(admin.ListStartOffsets(ctx, topic)).Offset, 0)
		Equal(at(admin.ListEndOffsets(ctx, topic)).Offset, 10)
		Equal(at(admin.ListCommittedOffsets(ctx, topic)).Offset, 10)
		Equal(at(admin.ListLocalLogStartOffsets(ctx, topic)).Offset, 0)
		Equal(at(admin.ListLatestRemoteOffsets(ctx, topic)).Offset, -1)
		late := at(admin.ListOffsetsAfterMilli(ctx, 104_500, topic))
		Equal([]int64{late.Offset, late.Timestamp}, []int64{5, 105_000})
		newest := at(admin.ListMaxTimestampOffsets(ctx, topic))
		Equal([]int64{newest.Offset, newest.Timestamp}, []int64{9, 109_000})
		Equal(at(admin.ListOffsetsAfterMilli(ctx, 200_000, topic)).Offset, 10)
	})
}

func records() {
	left := func(topic string) []string {
		consumer := from(topic, kgo.NewOffset().AtStart())
		defer consumer.Close()
		return values(take(consumer, 1))
	}
	remove := func(topic string, before int64) kadm.DeleteRecordsResponse {
		upTo := kadm.Offsets{}
		upTo.AddOffset(topic, 0, before, -1)
		found, _ := Got(admin.DeleteRecords(ctx, upTo)).Lookup(topic, 0)
		return found
	}
	Check("records: deleted up to an offset within a batch", func() {
		topic := timed()
		removed := remove(topic, 4)
		Must(removed.Err)
		Equal(removed.LowWatermark, 4)
		Equal(left(topic), numbers(4, 10))
	})
	Check("records: all are deleted, and offsets go on", func() {
		topic := timed()
		Equal(remove(topic, -1).LowWatermark, 10)
		Equal(send(on(topic, 0, "new"))[0].Record.Offset, 10)
		Equal(left(topic), []string{"new"})
	})
	Check("records: refused: beyond the end, and of unknown topics", func() {
		Refused(remove(timed(), 11).Err, kerr.OffsetOutOfRange)
		unknown := kadm.Offsets{}
		unknown.AddOffset(Unique("unknown"), 0, 1, -1)
		answer, err := admin.DeleteRecords(ctx, unknown)
		if err == nil {
			err = answer.Error()
		}
		Refused(err, kerr.UnknownTopicOrPartition)
	})
	Check("records: a consumer that comes from before goes on at the new beginning", func() {
		topic := timed()
		remove(topic, 6)
		consumer := from(topic, kgo.NewOffset().At(2), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
		defer consumer.Close()
		Equal(values(take(consumer, 4)), numbers(6, 10))
	})
}
