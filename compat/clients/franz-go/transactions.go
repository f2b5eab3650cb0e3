package main

import (
	"context"
	"time"

	. "checks"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

func transactional(id, topic string) *kgo.Client {
	return client(kgo.TransactionalID(id), kgo.DefaultProduceTopic(topic), kgo.TransactionTimeout(10*time.Second),
		kgo.RetryTimeout(5*time.Second))
}

func transactions() {
	within := func() (context.Context, context.CancelFunc) { return context.WithTimeout(ctx, 10*time.Second) }
	write := func(producer *kgo.Client, value string, end kgo.TransactionEndTry) {
		patience, cancel := within()
		defer cancel()
		Must(producer.BeginTransaction())
		Must(producer.ProduceSync(patience, kgo.StringRecord(value)).FirstErr())
		Must(producer.EndTransaction(patience, end))
	}
	Check("transactions: committed and aborted", func() {
		topic := newTopic(1)
		producer := transactional(Unique("id"), topic)
		defer producer.Close()
		write(producer, "one", kgo.TryCommit)
		write(producer, "none", kgo.TryAbort)
		write(producer, "two", kgo.TryCommit)
		committed := kgo.FetchIsolationLevel(kgo.ReadCommitted())
		Equal(values(everything(topic, 2, committed)), []string{"one", "two"})
		Equal(values(everything(topic, 3)), []string{"one", "none", "two"})
	})
	Check("transactions: unseen while they are open", func() {
		topic := newTopic(1)
		producer := transactional(Unique("id"), topic)
		defer producer.Close()
		patience, cancel := within()
		defer cancel()
		Must(producer.BeginTransaction())
		Must(producer.ProduceSync(patience, kgo.StringRecord("open")).FirstErr())
		consumer := from(topic, kgo.NewOffset().AtStart(), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
		defer consumer.Close()
		True(nothing(consumer), "it is not seen")
		Must(producer.EndTransaction(patience, kgo.TryCommit))
		Equal(values(take(consumer, 1)), []string{"open"})
	})
	Check("transactions: a producer is shut out by the next of its name", func() {
		topic, id := newTopic(1), Unique("id")
		first, second := transactional(id, topic), transactional(id, topic)
		defer first.Close()
		defer second.Close()
		write(first, "one", kgo.TryCommit)
		write(second, "two", kgo.TryCommit)
		patience, cancel := within()
		defer cancel()
		Must(first.BeginTransaction())
		err := first.ProduceSync(patience, kgo.StringRecord("late")).FirstErr()
		True(err != nil, "it is refused")
		Refused(err, kerr.InvalidProducerEpoch)
	})
	Check("transactions: offsets are committed with what was made of the records", func() {
		in, out, group := timed(), newTopic(1), Unique("group")
		session := Got(kgo.NewGroupTransactSession(kgo.SeedBrokers(Bootstrap()), kgo.TransactionalID(Unique("id")),
			kgo.ConsumerGroup(group), kgo.ConsumeTopics(in), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
			kgo.RequireStableFetchOffsets(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())))
		defer session.Close()
		patience, cancel := within()
		defer cancel()
		taken := session.PollFetches(patience).Records()
		Must(session.Begin())
		for _, each := range taken {
			Must(session.ProduceSync(patience, &kgo.Record{Topic: out, Value: each.Value}).FirstErr())
		}
		True(Got(session.End(patience, kgo.TryCommit)), "it is committed")
		Until("they are committed", func() bool { return committed(group, in).At == 10 })
		Equal(values(everything(out, 10)), numbers(0, 10))
	})
	Check("transactions: listed and described", func() {
		topic, id := newTopic(1), Unique("id")
		producer := transactional(id, topic)
		defer producer.Close()
		patience, cancel := within()
		defer cancel()
		Must(producer.BeginTransaction())
		Must(producer.ProduceSync(patience, kgo.StringRecord("open")).FirstErr())
		listed := Got(admin.ListTransactions(patience, nil, []string{"Ongoing"}))
		Equal(listed[id].State, "Ongoing")
		told := Got(admin.DescribeTransactions(patience, id))[id]
		Must(told.Err)
		Equal(told.Topics.Sorted()[0].Topic, topic)
		Must(producer.EndTransaction(patience, kgo.TryAbort))
	})
}
