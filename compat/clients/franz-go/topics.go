package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	. "checks"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func described(topic string) kadm.TopicDetail { return Got(admin.ListTopics(ctx, topic))[topic] }

func topics() {
	Check("topics: created with partitions and configs, and described", func() {
		name := Unique("franz")
		created := Got(admin.CreateTopic(ctx, 3, 1, map[string]*string{"retention.ms": text("60000")}, name))
		Until("it is known", func() bool { return described(name).Err == nil })
		Equal(created.NumPartitions, 3)
		Equal(created.ReplicationFactor, 1)
		Equal(*created.Configs["retention.ms"].Value, "60000")
		found := described(name)
		Equal(found.ID, created.ID)
		Equal(found.Partitions.Numbers(), []int32{0, 1, 2})
		for _, each := range found.Partitions {
			Equal(each.Replicas, []int32{each.Leader})
			Equal(each.ISR, []int32{each.Leader})
		}
	})
	Check("topics: the broker's own numbers, where none are given", func() {
		created := Got(admin.CreateTopic(ctx, -1, -1, nil, Unique("franz")))
		Equal(created.NumPartitions, 1)
	})
	Check("topics: tried, and not created", func() {
		name := Unique("franz")
		Must(Got(admin.ValidateCreateTopics(ctx, 2, 1, nil, name)).Error())
		Refused(described(name).Err, kerr.UnknownTopicOrPartition)
	})
	refused := func(what string, wanted error, create func() error) {
		Check("topics: refused: "+what, func() { Refused(create(), wanted) })
	}
	create := func(partitions int32, replicas int16, configs map[string]*string, name string) error {
		_, err := admin.CreateTopic(ctx, partitions, replicas, configs, name)
		return err
	}
	refused("one that exists", kerr.TopicAlreadyExists, func() error { return create(1, 1, nil, newTopic(1)) })
	refused("a name that cannot be", kerr.InvalidTopicException, func() error { return create(1, 1, nil, "no/topic") })
	refused("no partitions", kerr.InvalidPartitions, func() error { return create(0, 1, nil, Unique("t")) })
	refused("more replicas than brokers", kerr.InvalidReplicationFactor, func() error { return create(1, 2, nil, Unique("t")) })
	refused("a config that is none", kerr.InvalidConfig, func() error {
		return create(1, 1, map[string]*string{"retention.ms": text("soon")}, Unique("t"))
	})
	Check("topics: partitions are added", func() {
		topic := newTopic(1)
		Must(Got(admin.ValidateCreatePartitions(ctx, 2, topic)).Error())
		Equal(len(described(topic).Partitions), 1)
		Must(Got(admin.CreatePartitions(ctx, 2, topic)).Error())
		Until("there are 3", func() bool { return len(described(topic).Partitions) == 3 })
		Refused(Got(admin.UpdatePartitions(ctx, 2, topic)).Error(), kerr.InvalidPartitions)
		send(on(topic, 2, "new"))
	})
	Check("topics: unknown ones have no partitions to add, and are not deleted", func() {
		request := kmsg.NewPtrCreatePartitionsRequest()
		each := kmsg.NewCreatePartitionsRequestTopic()
		each.Topic, each.Count = Unique("unknown"), 3
		request.Topics = append(request.Topics, each)
		answer := Got(request.RequestWith(ctx, raw))
		Refused(kerr.ErrorForCode(answer.Topics[0].ErrorCode), kerr.UnknownTopicOrPartition)
		_, err := admin.DeleteTopic(ctx, each.Topic)
		Refused(err, kerr.UnknownTopicOrPartition)
		Refused(described(each.Topic).Err, kerr.UnknownTopicOrPartition)
	})
	Check("topics: deleted by name", func() {
		topic := newTopic(1)
		Got(admin.DeleteTopic(ctx, topic))
		Until("it is gone", func() bool { return described(topic).Err == kerr.UnknownTopicOrPartition })
	})
	Check("topics: deleted by id", func() {
		topic := newTopic(1)
		each := kmsg.NewDeleteTopicsRequestTopic()
		each.TopicID = described(topic).ID
		request := kmsg.NewPtrDeleteTopicsRequest()
		request.Topics = append(request.Topics, each)
		answer := Got(request.RequestWith(ctx, raw))
		Must(kerr.ErrorForCode(answer.Topics[0].ErrorCode))
		Equal(*answer.Topics[0].Topic, topic)
	})
	Check("topics: one of the same name has another id and no records", func() {
		topic := newTopic(1)
		before := described(topic).ID
		send(on(topic, 0, "old"))
		var after kadm.CreateTopicResponse
		Got(admin.DeleteTopic(ctx, topic))
		Until("it can be created again", func() bool {
			var err error
			after, err = admin.CreateTopic(ctx, 1, 1, nil, topic)
			return err == nil
		})
		True(after.ID != before, "the id is new")
		send(on(topic, 0, "new"))
		Equal(values(everything(topic, 1)), []string{"new"})
	})
	Check("topics: created by writing to them", func() {
		topic := Unique("franz-by-itself")
		producer := client(kgo.AllowAutoTopicCreation())
		defer producer.Close()
		Must(producer.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte("first")}).FirstErr())
		Equal(len(described(topic).Partitions), 1)
	})
	Check("topics: a hundred at once, and all are listed", func() {
		var names []string
		for number := range 100 {
			names = append(names, fmt.Sprintf("%s-%d", Unique("many"), number))
		}
		Must(Got(admin.CreateTopics(ctx, 1, 1, nil, names...)).Error())
		Until("all are listed", func() bool {
			listed := Got(admin.ListTopics(ctx))
			return !slices.ContainsFunc(names, func(each string) bool { return !listed.Has(each) })
		})
		Must(Got(admin.DeleteTopics(ctx, names...)).Error())
	})
	Check("topics: described page by page", func() {
		topic := newTopic(5)
		request := kmsg.NewPtrDescribeTopicPartitionsRequest()
		request.ResponsePartitionLimit = 2
		each := kmsg.NewDescribeTopicPartitionsRequestTopic()
		each.Topic = topic
		request.Topics = append(request.Topics, each)
		var pages [][]int32
		for {
			answer := Got(request.RequestWith(ctx, raw))
			var page []int32
			for _, partition := range answer.Topics[0].Partitions {
				page = append(page, partition.Partition)
			}
			pages = append(pages, page)
			if answer.NextCursor == nil {
				break
			}
			cursor := kmsg.NewDescribeTopicPartitionsRequestCursor()
			cursor.Topic, cursor.Partition = answer.NextCursor.Topic, answer.NextCursor.Partition
			request.Cursor = &cursor
		}
		Equal(pages, [][]int32{{0, 1}, {2, 3}, {4}})
	})
	Check("topics: where a leader's epoch ends", func() {
		topic := newTopic(1)
		send(on(topic, 0, numbers(0, 3)...))
		var request kadm.OffsetForLeaderEpochRequest
		request.Add(topic, 0, 0)
		Equal(Got(admin.OffsetForLeaderEpoch(ctx, request))[topic][0].EndOffset, 3)
	})
	Check("topics: a consumer sees a topic that comes later, by a pattern", func() {
		word := Unique("pattern")
		consumer := client(kgo.ConsumeRegex(), kgo.ConsumeTopics("^"+word+"-.*"), kgo.MetadataMinAge(100*time.Millisecond),
			kgo.MetadataMaxAge(200*time.Millisecond), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()))
		defer consumer.Close()
		moment, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		consumer.PollFetches(moment)
		cancel()
		createTopic(word+"-one", 1)
		send(on(word+"-one", 0, "seen"))
		Equal(values(take(consumer, 1)), []string{"seen"})
	})
}
