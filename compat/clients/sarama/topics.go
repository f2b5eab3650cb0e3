package main

import (
	. "checks"

	"github.com/IBM/sarama"
)

func text(value string) *string { return &value }

func topics() {
	gone := func(topic string) bool { return described(topic).Err == sarama.ErrUnknownTopicOrPartition }
	create := func(name string, partitions int32, replicas int16, configs map[string]*string) error {
		return admin.CreateTopic(name, &sarama.TopicDetail{
			NumPartitions: partitions, ReplicationFactor: replicas, ConfigEntries: configs,
		}, false)
	}
	Check("topics: created with partitions and configs, described and listed", func() {
		topic := newTopic(3, "retention.ms", "60000")
		found := described(topic)
		Equal(len(found.Partitions), 3)
		for _, each := range found.Partitions {
			Equal(each.Replicas, []int32{each.Leader})
		}
		True(found.Uuid != sarama.Uuid{}, "it has an id")
		listed := Got(admin.ListTopics())[topic]
		Equal(listed.NumPartitions, 3)
		Equal(*listed.ConfigEntries["retention.ms"], "60000")
	})
	Check("topics: created with replicas assigned by hand", func() {
		topic, node := Unique("sarama"), Got(admin.Controller()).ID()
		Must(admin.CreateTopic(topic, &sarama.TopicDetail{
			NumPartitions: -1, ReplicationFactor: -1, ReplicaAssignment: map[int32][]int32{0: {node}, 1: {node}},
		}, false))
		Until("it has two partitions", func() bool { return len(described(topic).Partitions) == 2 })
	})
	Check("topics: tried, and not created", func() {
		topic := Unique("sarama")
		Must(admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: 1, ReplicationFactor: 1}, true))
		True(gone(topic), "it is not there")
	})
	refused := func(what string, wanted error, call func() error) {
		Check("topics: refused: "+what, func() { Refused(call(), wanted) })
	}
	refused("one that exists", sarama.ErrTopicAlreadyExists, func() error { return create(newTopic(1), 1, 1, nil) })
	refused("a name that cannot be", sarama.ErrInvalidTopic, func() error { return create("no/topic", 1, 1, nil) })
	refused("no partitions", sarama.ErrInvalidPartitions, func() error { return create(Unique("t"), 0, 1, nil) })
	refused("more replicas than brokers", sarama.ErrInvalidReplicationFactor, func() error { return create(Unique("t"), 1, 2, nil) })
	refused("a config that is none", sarama.ErrInvalidConfig, func() error {
		return create(Unique("t"), 1, 1, map[string]*string{"retention.ms": text("soon")})
	})
	refused("fewer partitions", sarama.ErrInvalidPartitions, func() error {
		return admin.CreatePartitions(newTopic(2), 1, nil, false)
	})
	refused("partitions of an unknown one", sarama.ErrUnknownTopicOrPartition, func() error {
		return admin.CreatePartitions(Unique("unknown"), 3, nil, false)
	})
	refused("an unknown one is deleted", sarama.ErrUnknownTopicOrPartition, func() error { return admin.DeleteTopic(Unique("unknown")) })
	Check("topics: partitions are added, also where they are assigned by hand", func() {
		topic, node := newTopic(1), Got(admin.Controller()).ID()
		Must(admin.CreatePartitions(topic, 2, nil, true))
		Equal(len(described(topic).Partitions), 1)
		Must(admin.CreatePartitions(topic, 2, nil, false))
		Until("there are 2", func() bool { return len(described(topic).Partitions) == 2 })
		Must(admin.CreatePartitions(topic, 3, [][]int32{{node}}, false))
		Until("there are 3", func() bool { return len(described(topic).Partitions) == 3 })
		Must(send(on(topic, 2, "new")))
	})
	Check("topics: deleted", func() {
		topic := newTopic(1)
		Must(admin.DeleteTopic(topic))
		Until("it is gone", func() bool { return gone(topic) })
	})
	Check("topics: created by writing to them", func() {
		topic := Unique("sarama-by-itself")
		Must(send(on(topic, 0, "first"), func(each *sarama.Config) { each.Metadata.AllowAutoTopicCreation = true }))
		Equal(values(everything(topic, 1)), []string{"first"})
	})
}
