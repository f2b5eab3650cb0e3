package main

import (
	"time"

	. "checks"

	"github.com/IBM/sarama"
)

// timed has ten records, one a second from second 100 on, in one batch.
func timed() string {
	topic := newTopic(1)
	records := on(topic, 0, numbers(0, 10)...)
	for at, each := range records {
		each.Timestamp = time.UnixMilli(int64(100+at) * 1_000)
	}
	Must(send(records))
	return topic
}

func consume() {
	Check("consume: from the beginning, and from an offset within a batch", func() {
		topic := timed()
		Equal(values(everything(topic, 10)), numbers(0, 10))
		one := from(topic, 7)
		defer one.close()
		Equal(values(one.take(3)), numbers(7, 10))
		Equal(one.HighWaterMarkOffset(), 10)
	})
	Check("consume: from the end, where a record arrives while it waits", func() {
		topic := timed()
		one := from(topic, sarama.OffsetNewest, func(each *sarama.Config) { each.Consumer.MaxWaitTime = 4 * time.Second })
		defer one.close()
		True(one.nothing(), "there is nothing new")
		began := time.Now()
		Must(send(on(topic, 0, "new")))
		Equal(values(one.take(1)), []string{"new"})
		True(time.Since(began) < 2*time.Second, "it came at once")
	})
	Check("consume: an offset by its time", func() {
		topic, one := timed(), client()
		defer one.Close()
		for time, wanted := range map[int64]int64{104_500: 5, 104_000: 4, 1: 0, 200_000: -1} {
			Equal(Got(one.GetOffset(topic, 0, time)), wanted)
		}
		reader := from(topic, Got(one.GetOffset(topic, 0, 104_500)))
		defer reader.close()
		Equal(values(reader.take(5)), numbers(5, 10))
	})
	Check("consume: offsets of many partitions, with their times", func() {
		topic := timed()
		of := func(what int64) *sarama.OffsetResult {
			found := Got(admin.ListOffsets(map[string]map[int32]int64{topic: {0: what}}, nil))[topic][0]
			Equal(found.Err, error(sarama.ErrNoError))
			return found
		}
		Equal([]int64{of(sarama.OffsetOldest).Offset, of(sarama.OffsetNewest).Offset}, []int64{0, 10})
		Equal([]int64{of(104_500).Offset, of(104_500).Timestamp}, []int64{5, 105_000})
	})
	Check("consume: several partitions", func() {
		topic := newTopic(3)
		whole := Got(sarama.NewConsumer([]string{Bootstrap()}, config()))
		defer whole.Close()
		for partition := range int32(3) {
			Must(send(on(topic, partition, numbers(0, 50)...)))
			one := &reader{Got(whole.ConsumePartition(topic, partition, sarama.OffsetOldest)), whole}
			defer one.PartitionConsumer.Close()
			Equal(values(one.take(50)), numbers(0, 50))
		}
		Equal(len(whole.HighWaterMarks()[topic]), 3)
	})
	Check("consume: paused and resumed", func() {
		topic := timed()
		one := from(topic, sarama.OffsetOldest)
		defer one.close()
		one.take(10)
		one.Pause()
		True(one.IsPaused(), "it is paused")
		time.Sleep(300 * time.Millisecond)
		Must(send(on(topic, 0, "later")))
		True(one.nothing(), "nothing comes")
		one.Resume()
		Equal(values(one.take(1)), []string{"later"})
	})
	Check("consume: as little as a fetch may bring", func() {
		topic := newTopic(1)
		for _, value := range numbers(0, 20) {
			Must(send(on(topic, 0, value)))
		}
		Equal(values(everything(topic, 20, func(each *sarama.Config) { each.Consumer.Fetch.Default = 1 })), numbers(0, 20))
	})
	Check("consume: only what is committed, where nothing is not", func() {
		Equal(values(everything(timed(), 10, func(each *sarama.Config) { each.Consumer.IsolationLevel = sarama.ReadCommitted })), numbers(0, 10))
	})
	Check("consume: refused: out of range, and unknown partitions", func() {
		topic := timed()
		whole := Got(sarama.NewConsumer([]string{Bootstrap()}, config()))
		defer whole.Close()
		_, err := whole.ConsumePartition(topic, 0, 1_000)
		Refused(err, sarama.ErrOffsetOutOfRange)
		_, err = whole.ConsumePartition(topic, 5, sarama.OffsetOldest)
		Refused(err, sarama.ErrUnknownTopicOrPartition)
	})
}

func records() {
	first := func(topic string) int64 {
		one := client()
		defer one.Close()
		return Got(one.GetOffset(topic, 0, sarama.OffsetOldest))
	}
	Check("records: deleted up to an offset within a batch", func() {
		topic := timed()
		Must(admin.DeleteRecords(topic, map[int32]int64{0: 4}))
		Equal(first(topic), 4)
		Equal(values(everything(topic, 6)), numbers(4, 10))
	})
	Check("records: all are deleted, and offsets go on", func() {
		topic := timed()
		Must(admin.DeleteRecords(topic, map[int32]int64{0: -1}))
		Equal(first(topic), 10)
		Must(send(on(topic, 0, "new")))
		Equal(everything(topic, 1)[0].Offset, 10)
	})
	Check("records: refused: beyond the end, and of unknown topics", func() {
		Refused(admin.DeleteRecords(timed(), map[int32]int64{0: 11}), sarama.ErrOffsetOutOfRange)
		True(admin.DeleteRecords(Unique("unknown"), map[int32]int64{0: 1}) != nil, "an unknown one is refused")
	})
}
