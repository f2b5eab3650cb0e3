// What franz-go does: its client kgo, and its admin's client kadm.
package main

import (
	"context"
	"fmt"
	"time"

	. "checks"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

var (
	ctx   = context.Background()
	admin *kadm.Client
	// raw is for the requests that kadm has no call for.
	raw *kgo.Client
)

func main() {
	raw = client()
	admin = kadm.NewClient(raw)
	// The first group makes a broker create the topic of all groups' offsets, which takes a while.
	warm, topic := Unique("group"), newTopic(1)
	Until("there is a coordinator", func() bool { return commit(warm, topic, 0, "") == nil })

	// What waits longest comes first: the others go on beside it.
	nextGroups()
	transactions()
	produce()
	compress()
	topics()
	groups()
	connect()
	configs()
	consume()
	offsets()
	records()
	Main()
}

func client(options ...kgo.Opt) *kgo.Client {
	return Got(kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(Bootstrap())}, options...)...))
}

func text(value string) *string { return &value }

// newTopic has a name of its own. Configs are keys and values by turns.
func newTopic(partitions int32, configs ...string) string {
	name := Unique("franz")
	createTopic(name, partitions, configs...)
	return name
}

func createTopic(name string, partitions int32, configs ...string) {
	wanted := map[string]*string{}
	for at := 0; at < len(configs); at += 2 {
		wanted[configs[at]] = &configs[at+1]
	}
	Got(admin.CreateTopic(ctx, partitions, 1, wanted, name))
	// A controller answers before its brokers have heard.
	Until("the broker knows "+name, func() bool {
		return Got(admin.DescribeTopicConfigs(ctx, name))[0].Err == nil && len(described(name).Partitions) == int(partitions)
	})
}

// on makes one record for each value, all for one partition.
func on(topic string, partition int32, values ...string) (made []*kgo.Record) {
	for _, value := range values {
		made = append(made, &kgo.Record{Topic: topic, Partition: partition, Value: []byte(value)})
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

// send produces where the records say, one batch for each partition where they are few.
func send(records []*kgo.Record, options ...kgo.Opt) kgo.ProduceResults {
	producer := client(append(options, kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	defer producer.Close()
	results := producer.ProduceSync(ctx, records...)
	Must(results.FirstErr())
	return results
}

// take polls until there are as many records, or more if they came at once.
func take(consumer *kgo.Client, count int) (taken []*kgo.Record) {
	deadline, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for len(taken) < count {
		fetches := consumer.PollFetches(deadline)
		for _, each := range fetches.Errors() {
			panic(fmt.Errorf("%d of %d records, then %w", len(taken), count, each.Err))
		}
		taken = append(taken, fetches.Records()...)
	}
	return taken
}

// nothing polls for a moment, and says whether it was in vain.
func nothing(consumer *kgo.Client) bool {
	moment, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	return consumer.PollFetches(moment).NumRecords() == 0
}

func values(records []*kgo.Record) (found []string) {
	for _, each := range records {
		found = append(found, string(each.Value))
	}
	return found
}

// from reads one topic's partition 0 from an offset.
func from(topic string, offset kgo.Offset, options ...kgo.Opt) *kgo.Client {
	start := map[string]map[int32]kgo.Offset{topic: {0: offset}}
	return client(append(options, kgo.ConsumePartitions(start), kgo.FetchMaxWait(500*time.Millisecond))...)
}

// everything is what a topic's partition 0 holds, `count` records or more.
func everything(topic string, count int, options ...kgo.Opt) []*kgo.Record {
	consumer := from(topic, kgo.NewOffset().AtStart(), options...)
	defer consumer.Close()
	return take(consumer, count)
}
