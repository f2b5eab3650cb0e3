package main

import (
	. "checks"

	"github.com/IBM/sarama"
)

func transactions() {
	transactional := func(id string) sarama.SyncProducer {
		return Got(sarama.NewSyncProducer([]string{Bootstrap()}, config(idempotent, func(each *sarama.Config) {
			each.Producer.Transaction.ID = id
			each.Producer.Transaction.Retry.Max = 5
		})))
	}
	readCommitted := func(each *sarama.Config) { each.Consumer.IsolationLevel = sarama.ReadCommitted }
	Check("transactions: committed and aborted", func() {
		topic := newTopic(1)
		producer := transactional(Unique("id"))
		defer producer.Close()
		write := func(value string, end func() error) {
			Must(producer.BeginTxn())
			Must(producer.SendMessages(on(topic, 0, value)))
			Must(end())
		}
		write("one", producer.CommitTxn)
		write("none", producer.AbortTxn)
		write("two", producer.CommitTxn)
		Equal(values(everything(topic, 2, readCommitted)), []string{"one", "two"})
		Equal(values(everything(topic, 3)), []string{"one", "none", "two"})
	})
	Check("transactions: a producer is shut out by the next of its name", func() {
		topic, id := newTopic(1), Unique("id")
		first := transactional(id)
		defer first.Close()
		Must(first.BeginTxn())
		Must(first.SendMessages(on(topic, 0, "lost")))
		second := transactional(id)
		defer second.Close()
		Must(second.BeginTxn())
		Must(second.SendMessages(on(topic, 0, "kept")))
		Must(second.CommitTxn())
		True(first.CommitTxn() != nil, "the first is refused")
		Equal(values(everything(topic, 1, readCommitted)), []string{"kept"})
	})
	Check("transactions: offsets are committed with what was made of the records", func() {
		in, out, group := timed(), newTopic(1), Unique("group")
		producer := transactional(Unique("id"))
		defer producer.Close()
		Must(producer.BeginTxn())
		Must(producer.SendMessages(on(out, 0, "made")))
		Must(producer.AddOffsetsToTxn(map[string][]*sarama.PartitionOffsetMetadata{in: {{Partition: 0, Offset: 10}}}, group))
		Must(producer.CommitTxn())
		Until("they are committed", func() bool {
			return Got(admin.ListConsumerGroupOffsets(group, map[string][]int32{in: {0}})).GetBlock(in, 0).Offset == 10
		})
		Equal(values(everything(out, 1, readCommitted)), []string{"made"})
	})
}
