package main

import (
	"time"

	. "checks"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// committed is what a group has committed for a topic's partition 0; -1 for nothing.
func committed(group, topic string) kadm.OffsetResponse {
	found, exists := Got(admin.FetchOffsets(ctx, group)).Lookup(topic, 0)
	if !exists {
		found.At = -1
	}
	Must(found.Err)
	return found
}

func commit(group, topic string, offset int64, metadata string) error {
	all := kadm.Offsets{}
	all.Add(kadm.Offset{Topic: topic, Partition: 0, At: offset, LeaderEpoch: 0, Metadata: metadata})
	answer, err := admin.CommitOffsets(ctx, group, all)
	if err == nil {
		err = answer.Error()
	}
	return err
}

func offsets() {
	byHand := func(group, topic string) *kgo.Client {
		return client(kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	}
	Check("offsets: committed by hand, and who comes next goes on there", func() {
		topic, group := timed(), Unique("group")
		first := byHand(group, topic)
		taken := take(first, 10)
		Must(first.CommitRecords(ctx, taken[3]))
		Equal(first.CommittedOffsets()[topic][0].Offset, 4)
		first.Close()
		Equal(committed(group, topic).At, 4)
		second := byHand(group, topic)
		defer second.Close()
		Equal(values(take(second, 6)), numbers(4, 10))
		Must(second.CommitUncommittedOffsets(ctx))
		Equal(committed(group, topic).At, 10)
	})
	Check("offsets: not committed, and all comes again", func() {
		topic, group := timed(), Unique("group")
		for range 2 {
			one := byHand(group, topic)
			Equal(values(take(one, 10)), numbers(0, 10))
			one.Close()
		}
		Equal(committed(group, topic).At, -1)
	})
	Check("offsets: committed by themselves", func() {
		topic, group := timed(), Unique("group")
		one := join(group, topic, kgo.AutoCommitInterval(100*time.Millisecond))
		defer one.leave()
		Until("all are committed", func() bool { return committed(group, topic).At == 10 })
	})
	Check("offsets: those that are marked", func() {
		topic, group := timed(), Unique("group")
		one := client(kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.AutoCommitMarks(),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
		defer one.Close()
		one.MarkCommitRecords(take(one, 10)[:6]...)
		Must(one.CommitMarkedOffsets(ctx))
		Equal(committed(group, topic).At, 6)
	})
	Check("offsets: a note and the leader's epoch are kept with them", func() {
		topic, group := timed(), Unique("group")
		Must(commit(group, topic, 5, "what for ✓"))
		found := committed(group, topic)
		Equal([]any{found.At, found.Metadata, found.LeaderEpoch}, []any{int64(5), "what for ✓", int32(0)})
		long := string(make([]byte, 5_000))
		Refused(commit(group, topic, 5, long), kerr.OffsetMetadataTooLarge)
	})
	Check("offsets: reset by an admin while the group is empty, and not while it works", func() {
		topic, group := timed(), Unique("group")
		one := byHand(group, topic)
		Must(one.CommitRecords(ctx, take(one, 10)...))
		Refused(commit(group, topic, 2, ""), kerr.UnknownMemberID)
		one.Close()
		Must(commit(group, topic, 2, ""))
		other := byHand(group, topic)
		defer other.Close()
		Equal(values(take(other, 8)), numbers(2, 10))
	})
	Check("offsets: of several groups, and of some topics", func() {
		one, other, topic, another := Unique("group"), Unique("group"), timed(), timed()
		Must(commit(one, topic, 1, ""))
		Must(commit(other, topic, 2, ""))
		Must(commit(other, another, 3, ""))
		many := admin.FetchManyOffsets(ctx, one, other)
		Must(many.Error())
		found, _ := many[other].Fetched.Lookup(another, 0)
		Equal(found.At, 3)
		some := Got(admin.FetchOffsetsForTopics(ctx, one, topic, another))
		first, _ := some.Lookup(topic, 0)
		none, _ := some.Lookup(another, 0)
		Equal([]int64{first.At, none.At}, []int64{1, -1})
	})
	Check("offsets: committed and read by the topic's id", func() {
		topic, group := timed(), Unique("group")
		id := described(topic).ID
		all := kadm.OffsetsByID{}
		all.Add(kadm.Offset{TopicID: id, Partition: 0, At: 7, LeaderEpoch: -1})
		Must(admin.CommitAllOffsetsByID(ctx, group, all))
		found, exists := Got(admin.FetchOffsetsByID(ctx, group)).Lookup(id, 0)
		True(exists, "it is there by its id")
		Equal(found.At, 7)
		Equal(committed(group, topic).At, 7)
	})
	Check("offsets: deleted, unless a member reads the topic", func() {
		topic, group := timed(), Unique("group")
		Must(commit(group, topic, 5, ""))
		remove := func() error { return Got(admin.DeleteOffsets(ctx, group, kadm.TopicsSet{topic: {0: {}}})).Error() }
		one := join(group, topic, kgo.DisableAutoCommit())
		shares(group, 1, 1)
		Refused(remove(), kerr.GroupSubscribedToTopic)
		one.leave()
		Must(remove())
		Equal(committed(group, topic).At, -1)
	})
	Check("offsets: gone with their topic", func() {
		topic, group := timed(), Unique("group")
		Must(commit(group, topic, 5, ""))
		Got(admin.DeleteTopic(ctx, topic))
		Until("they are gone", func() bool { return committed(group, topic).At == -1 })
	})
	Check("offsets: refused for topics that are unknown", func() {
		Refused(commit(Unique("group"), Unique("unknown"), 1, ""), kerr.UnknownTopicOrPartition)
	})
	Check("offsets: how far a group lags", func() {
		topic, group := timed(), Unique("group")
		Must(commit(group, topic, 4, ""))
		lag := Got(admin.Lag(ctx, group))[group]
		Must(lag.Error())
		Equal(lag.Lag.Total(), 6)
	})
	Check("offsets: kept where they are read with stable ones wanted", func() {
		topic, group := timed(), Unique("group")
		Must(commit(group, topic, 8, ""))
		one := client(kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.RequireStableFetchOffsets())
		defer one.Close()
		Equal(values(take(one, 2)), numbers(8, 10))
	})
}
