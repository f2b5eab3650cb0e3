// What sarama does.
package main

import (
	"errors"
	"fmt"
	"time"

	. "checks"

	"github.com/IBM/sarama"
)

var admin sarama.ClusterAdmin

func main() {
	admin = Got(sarama.NewClusterAdmin([]string{Bootstrap()}, config()))
	// The first group makes a broker create the topic of all groups' offsets, which takes a while.
	warm, topic := Unique("group"), newTopic(1)
	Until("there is a coordinator", func() bool { return commit(warm, topic, 0, "") == nil })

	connect()
	topics()
	configs()
	produce()
	consume()
	groups()
	offsets()
	records()
	transactions()
	Main()
}

func config(changes ...func(*sarama.Config)) *sarama.Config {
	made := sarama.NewConfig()
	made.Version = sarama.MaxVersion
	made.Metadata.AllowAutoTopicCreation = false
	made.Producer.Return.Successes = true
	made.Producer.Partitioner = sarama.NewManualPartitioner
	made.Consumer.Return.Errors = true
	made.Consumer.Offsets.Initial = sarama.OffsetOldest
	made.Consumer.MaxWaitTime = 100 * time.Millisecond
	made.Consumer.Retry.Backoff = 100 * time.Millisecond
	made.Consumer.Group.Heartbeat.Interval = 100 * time.Millisecond
	made.Consumer.Group.Session.Timeout = 6 * time.Second
	made.Consumer.Group.Rebalance.Retry.Backoff = 100 * time.Millisecond
	for _, change := range changes {
		change(made)
	}
	return made
}

func client(changes ...func(*sarama.Config)) sarama.Client {
	return Got(sarama.NewClient([]string{Bootstrap()}, config(changes...)))
}

// newTopic has a name of its own. Configs are keys and values by turns.
func newTopic(partitions int32, configs ...string) string {
	name := Unique("sarama")
	detail := &sarama.TopicDetail{NumPartitions: partitions, ReplicationFactor: 1, ConfigEntries: map[string]*string{}}
	for at := 0; at < len(configs); at += 2 {
		detail.ConfigEntries[configs[at]] = &configs[at+1]
	}
	Must(admin.CreateTopic(name, detail, false))
	// A controller answers before its brokers have heard.
	Until("the broker knows "+name, func() bool {
		found := described(name)
		return found.Err == sarama.ErrNoError && len(found.Partitions) == int(partitions)
	})
	return name
}

func described(topic string) *sarama.TopicMetadata {
	return Got(admin.DescribeTopics([]string{topic}))[0]
}

// on makes one record for each value, all for one partition.
func on(topic string, partition int32, values ...string) (made []*sarama.ProducerMessage) {
	for _, value := range values {
		made = append(made, &sarama.ProducerMessage{Topic: topic, Partition: partition, Value: sarama.StringEncoder(value)})
	}
	return made
}

// numbers are the values from, from+1 and so on.
func numbers(from, to int) (made []string) {
	for number := from; number < to; number++ {
		made = append(made, fmt.Sprint(number))
	}
	return made
}

// send produces where the records say.
func send(records []*sarama.ProducerMessage, changes ...func(*sarama.Config)) error {
	producer := Got(sarama.NewSyncProducer([]string{Bootstrap()}, config(changes...)))
	defer producer.Close()
	err := producer.SendMessages(records)
	var many sarama.ProducerErrors
	if errors.As(err, &many) {
		return many[0].Err
	}
	return err
}

// reader reads a topic's partition 0 from an offset.
type reader struct {
	sarama.PartitionConsumer
	whole sarama.Consumer
}

func from(topic string, offset int64, changes ...func(*sarama.Config)) *reader {
	whole := Got(sarama.NewConsumer([]string{Bootstrap()}, config(changes...)))
	return &reader{Got(whole.ConsumePartition(topic, 0, offset)), whole}
}

func (one *reader) close() {
	one.PartitionConsumer.Close()
	one.whole.Close()
}

func (one *reader) take(count int) (taken []*sarama.ConsumerMessage) {
	for len(taken) < count {
		select {
		case record := <-one.Messages():
			taken = append(taken, record)
		case err := <-one.Errors():
			panic(err)
		case <-time.After(20 * time.Second):
			panic(fmt.Errorf("waited for record %d of %d", len(taken)+1, count))
		}
	}
	return taken
}

// nothing waits for a moment, and says whether it was in vain.
func (one *reader) nothing() bool {
	select {
	case <-one.Messages():
		return false
	case <-time.After(300 * time.Millisecond):
		return true
	}
}

func values(records []*sarama.ConsumerMessage) (found []string) {
	for _, each := range records {
		found = append(found, string(each.Value))
	}
	return found
}

func everything(topic string, count int, changes ...func(*sarama.Config)) []*sarama.ConsumerMessage {
	one := from(topic, sarama.OffsetOldest, changes...)
	defer one.close()
	return one.take(count)
}
