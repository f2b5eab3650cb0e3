package main

import (
	"strings"

	. "checks"

	"github.com/IBM/sarama"
)

func configs() {
	topicConfig := func(topic, key string) sarama.ConfigEntry {
		asked := sarama.ConfigResource{Type: sarama.TopicResource, Name: topic, ConfigNames: []string{key}}
		found := Got(admin.DescribeConfig(asked))
		Equal(len(found), 1)
		return found[0]
	}
	is := func(topic, key, value string) {
		Until(key+" is "+value, func() bool { return topicConfig(topic, key).Value == value })
	}
	type changes = map[string]sarama.IncrementalAlterConfigsEntry
	alter := func(topic string, all changes) error {
		return admin.IncrementalAlterConfig(sarama.TopicResource, topic, all, false)
	}
	Check("configs: a topic's are described, with where they come from", func() {
		topic := newTopic(1, "cleanup.policy", "compact")
		Equal(topicConfig(topic, "cleanup.policy").Source, sarama.SourceTopic)
		Equal(topicConfig(topic, "retention.ms").Source, sarama.SourceDefault)
		all := Got(admin.DescribeConfigs([]*sarama.ConfigResource{{Type: sarama.TopicResource, Name: topic}},
			sarama.DescribeConfigsOptions{IncludeSynonyms: true, IncludeDocumentation: true}))
		True(len(all[0].Configs) > 25, "there are %d", len(all[0].Configs))
		for _, each := range all[0].Configs {
			True(each.Documentation != nil && *each.Documentation != "", "%s is explained", each.Name)
		}
	})
	Check("configs: a topic's are set and unset, one by one", func() {
		topic := newTopic(1, "retention.ms", "1000")
		Must(alter(topic, changes{"segment.ms": {Operation: sarama.IncrementalAlterConfigsOperationSet, Value: text("5000")}}))
		is(topic, "segment.ms", "5000")
		is(topic, "retention.ms", "1000")
		Must(alter(topic, changes{"retention.ms": {Operation: sarama.IncrementalAlterConfigsOperationDelete}}))
		is(topic, "retention.ms", "604800000")
	})
	Check("configs: words are added to a list and taken from it", func() {
		topic := newTopic(1)
		Must(alter(topic, changes{"cleanup.policy": {Operation: sarama.IncrementalAlterConfigsOperationAppend, Value: text("compact")}}))
		is(topic, "cleanup.policy", "delete,compact")
		Must(alter(topic, changes{"cleanup.policy": {Operation: sarama.IncrementalAlterConfigsOperationSubtract, Value: text("delete")}}))
		is(topic, "cleanup.policy", "compact")
	})
	Check("configs: a topic's are altered as a whole, or only tried", func() {
		topic := newTopic(1, "retention.ms", "1000")
		whole := map[string]*string{"segment.ms": text("5000")}
		Must(admin.AlterConfig(sarama.TopicResource, topic, whole, true))
		Equal(topicConfig(topic, "retention.ms").Value, "1000")
		Must(admin.AlterConfig(sarama.TopicResource, topic, whole, false))
		is(topic, "segment.ms", "5000")
		is(topic, "retention.ms", "604800000")
	})
	Check("configs: refused: values that cannot be, and topics that are not", func() {
		set := func(value string) changes {
			return changes{"retention.ms": {Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &value}}
		}
		// What sarama says of these is text.
		is := func(err error, wanted sarama.KError) {
			True(err != nil && strings.Contains(err.Error(), wanted.Error()), "%v is %v", err, wanted)
		}
		is(alter(newTopic(1), set("soon")), sarama.ErrInvalidConfig)
		is(alter(Unique("unknown"), set("1000")), sarama.ErrUnknownTopicOrPartition)
		_, err := admin.DescribeConfig(sarama.ConfigResource{Type: sarama.TopicResource, Name: Unique("unknown")})
		Refused(err, sarama.ErrUnknownTopicOrPartition)
	})
	Check("configs: a broker's are described and altered", func() {
		broker := sarama.ConfigResource{Type: sarama.BrokerResource, Name: "1", ConfigNames: []string{"log.cleaner.backoff.ms"}}
		value := func() string { return Got(admin.DescribeConfig(broker))[0].Value }
		before := value()
		change := func(how sarama.IncrementalAlterConfigsOperation, to *string) {
			Must(admin.IncrementalAlterConfig(broker.Type, broker.Name, changes{broker.ConfigNames[0]: {Operation: how, Value: to}}, false))
		}
		change(sarama.IncrementalAlterConfigsOperationSet, text("14000"))
		Until("it is altered", func() bool { return value() == "14000" })
		change(sarama.IncrementalAlterConfigsOperationDelete, nil)
		Until("it is as before", func() bool { return value() == before })
	})
	Check("configs: quotas are altered, described and removed", func() {
		user := Unique("user")
		entity := []sarama.QuotaEntityComponent{{EntityType: sarama.QuotaEntityUser, MatchType: sarama.QuotaMatchExact, Name: user}}
		asked := []sarama.QuotaFilterComponent{{EntityType: sarama.QuotaEntityUser, MatchType: sarama.QuotaMatchExact, Match: user}}
		told := func() []sarama.DescribeClientQuotasEntry { return Got(admin.DescribeClientQuotas(asked, true)) }
		Must(admin.AlterClientQuotas(entity, sarama.ClientQuotasOp{Key: "producer_byte_rate", Value: 1e6}, false))
		Until("it is set", func() bool { return len(told()) == 1 })
		Equal(told()[0].Values, map[string]float64{"producer_byte_rate": 1e6})
		Must(admin.AlterClientQuotas(entity, sarama.ClientQuotasOp{Key: "producer_byte_rate", Remove: true}, false))
		Until("it is removed", func() bool { return len(told()) == 0 })
	})
	Check("configs: a feature that is none is refused", func() {
		results, err := admin.UpdateFeatures([]sarama.FeatureUpdate{{Feature: "no.such.feature", MaxVersionLevel: 1}})
		True(err != nil || len(results) == 1 && results[0].ErrorCode != sarama.ErrNoError, "it is refused")
	})
}
