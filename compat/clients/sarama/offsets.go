package main

import (
	"fmt"
	"time"

	. "checks"

	"github.com/IBM/sarama"
)

func committed(group, topic string) *sarama.OffsetFetchResponseBlock {
	found := Got(admin.ListConsumerGroupOffsets(group, map[string][]int32{topic: {0}})).GetBlock(topic, 0)
	Equal(found.Err, sarama.ErrNoError)
	return found
}

func commit(group, topic string, offset int64, metadata string) error {
	answer, err := admin.AlterConsumerGroupOffsets(group, map[string]map[int32]sarama.OffsetAndMetadata{
		topic: {0: {Offset: offset, Metadata: metadata, LeaderEpoch: 0}}}, nil)
	if err == nil && answer.Errors[topic][0] != sarama.ErrNoError {
		err = answer.Errors[topic][0]
	}
	return err
}

func offsets() {
	byHand := func(each *sarama.Config) { each.Consumer.Offsets.AutoCommit.Enable = false }
	Check("offsets: committed by hand, and who comes next goes on there", func() {
		topic, group := timed(), Unique("group")
		upTo3 := func(session sarama.ConsumerGroupSession, one *sarama.ConsumerMessage) {
			if one.Offset == 3 {
				session.MarkMessage(one, "note")
				session.Commit()
			}
		}
		first := join(group, topic, upTo3, byHand)
		for range 10 {
			first.next()
		}
		first.leave()
		Equal(committed(group, topic).Offset, 4)
		Equal(committed(group, topic).Metadata, "note")
		second := join(group, topic, mark, byHand)
		defer second.leave()
		Equal(second.next().Offset, 4)
	})
	Check("offsets: committed by themselves", func() {
		topic, group := timed(), Unique("group")
		one := join(group, topic, mark, func(each *sarama.Config) { each.Consumer.Offsets.AutoCommit.Interval = 100 * time.Millisecond })
		defer one.leave()
		Until("all are committed", func() bool { return committed(group, topic).Offset == 10 })
	})
	Check("offsets: set back within a group", func() {
		topic, group := timed(), Unique("group")
		Must(commit(group, topic, 8, ""))
		back := func(session sarama.ConsumerGroupSession, one *sarama.ConsumerMessage) {
			session.ResetOffset(one.Topic, one.Partition, 2, "back")
			session.Commit()
		}
		one := join(group, topic, back, byHand)
		Equal(one.next().Offset, 8)
		one.leave()
		Equal([]any{committed(group, topic).Offset, committed(group, topic).Metadata}, []any{int64(2), "back"})
	})
	Check("offsets: managed without a group's members", func() {
		topic, group, one := timed(), Unique("group"), client()
		defer one.Close()
		manager := Got(sarama.NewOffsetManagerFromClient(group, one))
		partition := Got(manager.ManagePartition(topic, 0))
		next, _ := partition.NextOffset()
		Equal(next, sarama.OffsetOldest)
		partition.MarkOffset(5, "five")
		manager.Commit()
		Must(partition.Close())
		Must(manager.Close())
		Equal([]any{committed(group, topic).Offset, committed(group, topic).Metadata}, []any{int64(5), "five"})
	})
	Check("offsets: reset by an admin while the group is empty, and not while it works", func() {
		topic, group := timed(), Unique("group")
		one := join(group, topic, mark)
		shares(group, 1, 1)
		Refused(commit(group, topic, 2, ""), sarama.ErrUnknownMemberId)
		one.leave()
		Must(commit(group, topic, 2, ""))
		other := join(group, topic, mark)
		defer other.leave()
		Equal(other.next().Offset, 2)
	})
	Check("offsets: a note and the leader's epoch are kept with them", func() {
		topic, group := timed(), Unique("group")
		Must(commit(group, topic, 5, "what for ✓"))
		found := committed(group, topic)
		Equal([]any{found.Offset, found.Metadata, found.LeaderEpoch}, []any{int64(5), "what for ✓", int32(0)})
		Refused(commit(group, topic, 5, fmt.Sprintf("%5000d", 1)), sarama.ErrOffsetMetadataTooLarge)
	})
	Check("offsets: of several groups", func() {
		one, other, topic := Unique("group"), Unique("group"), timed()
		Must(commit(one, topic, 1, ""))
		Must(commit(other, topic, 2, ""))
		many := Got(admin.ListConsumerGroupOffsetsBatch(map[string]map[string][]int32{one: {topic: {0}}, other: nil}))
		Equal(many[one].Blocks[topic][0].Offset, 1)
		Equal(many[other].Blocks[topic][0].Offset, 2)
	})
	Check("offsets: deleted, unless a member reads the topic", func() {
		topic, group := timed(), Unique("group")
		Must(commit(group, topic, 5, ""))
		one := join(group, topic, func(sarama.ConsumerGroupSession, *sarama.ConsumerMessage) {}, byHand)
		shares(group, 1, 1)
		Refused(admin.DeleteConsumerGroupOffset(group, topic, 0), sarama.ErrGroupSubscribedToTopic)
		one.leave()
		Must(admin.DeleteConsumerGroupOffset(group, topic, 0))
		Equal(committed(group, topic).Offset, -1)
	})
	Check("offsets: out of range, and begun anew", func() {
		topic, group := timed(), Unique("group")
		Must(commit(group, topic, 5_000, ""))
		one := join(group, topic, mark)
		defer one.leave()
		Equal(one.next().Offset, 0)
	})
}
