package main

import (
	"slices"
	"strconv"

	. "checks"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// config is a topic's.
func config(topic, key string) *kadm.Config {
	found := Got(Got(admin.DescribeTopicConfigs(ctx, topic)).On(topic, nil))
	Must(found.Err)
	at := slices.IndexFunc(found.Configs, func(each kadm.Config) bool { return each.Key == key })
	True(at >= 0, "there is a config %s", key)
	return &found.Configs[at]
}

// is waits for a topic's config.
func is(topic, key, value string) {
	Until(key+" is "+value, func() bool { return config(topic, key).MaybeValue() == value })
}

// setOfGroup gives a group a config.
func setOfGroup(group, key, value string) {
	set := kmsg.NewIncrementalAlterConfigsRequestResource()
	set.ResourceType, set.ResourceName = kmsg.ConfigResourceTypeGroupConfig, group
	one := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	one.Name, one.Value = key, &value
	set.Configs = append(set.Configs, one)
	request := kmsg.NewPtrIncrementalAlterConfigsRequest()
	request.Resources = append(request.Resources, set)
	Must(kerr.ErrorForCode(Got(request.RequestWith(ctx, raw)).Resources[0].ErrorCode))
}

func configs() {
	Check("configs: a topic's are described, with where they come from", func() {
		topic := newTopic(1, "cleanup.policy", "compact")
		Equal(config(topic, "cleanup.policy").MaybeValue(), "compact")
		Equal(config(topic, "cleanup.policy").Source, kmsg.ConfigSourceDynamicTopicConfig)
		Equal(config(topic, "retention.ms").MaybeValue(), "604800000")
		Equal(config(topic, "retention.ms").Source, kmsg.ConfigSourceDefaultConfig)
	})
	alter := func(topic string, changes ...kadm.AlterConfig) error {
		return Got(Got(admin.AlterTopicConfigs(ctx, changes, topic)).On(topic, nil)).Err
	}
	Check("configs: a topic's are set and unset, one by one", func() {
		topic := newTopic(1, "retention.ms", "1000")
		Must(alter(topic, kadm.AlterConfig{Op: kadm.SetConfig, Name: "segment.ms", Value: text("5000")}))
		is(topic, "segment.ms", "5000")
		is(topic, "retention.ms", "1000")
		Must(alter(topic, kadm.AlterConfig{Op: kadm.DeleteConfig, Name: "retention.ms"}))
		is(topic, "retention.ms", "604800000")
	})
	Check("configs: words are added to a list and taken from it", func() {
		topic := newTopic(1)
		Must(alter(topic, kadm.AlterConfig{Op: kadm.AppendConfig, Name: "cleanup.policy", Value: text("compact")}))
		is(topic, "cleanup.policy", "delete,compact")
		Must(alter(topic, kadm.AlterConfig{Op: kadm.SubtractConfig, Name: "cleanup.policy", Value: text("delete")}))
		is(topic, "cleanup.policy", "compact")
	})
	Check("configs: a topic's are altered as a whole", func() {
		topic := newTopic(1, "retention.ms", "1000")
		change := []kadm.AlterConfig{{Name: "segment.ms", Value: text("5000")}}
		Must(Got(Got(admin.AlterTopicConfigsState(ctx, change, topic)).On(topic, nil)).Err)
		is(topic, "segment.ms", "5000")
		is(topic, "retention.ms", "604800000")
	})
	Check("configs: tried, and not altered", func() {
		topic := newTopic(1)
		change := []kadm.AlterConfig{{Name: "retention.ms", Value: text("5000")}}
		Must(Got(Got(admin.ValidateAlterTopicConfigs(ctx, change, topic)).On(topic, nil)).Err)
		Equal(config(topic, "retention.ms").MaybeValue(), "604800000")
	})
	Check("configs: refused: values that cannot be, keys and topics that are not", func() {
		topic := newTopic(1)
		Refused(alter(topic, kadm.AlterConfig{Name: "retention.ms", Value: text("soon")}), kerr.InvalidConfig)
		Refused(alter(topic, kadm.AlterConfig{Name: "no.such.key", Value: text("1")}), kerr.InvalidConfig)
		Refused(alter(Unique("unknown"), kadm.AlterConfig{Name: "retention.ms", Value: text("1")}), kerr.UnknownTopicOrPartition)
		unknown := Unique("unknown")
		Refused(Got(Got(admin.DescribeTopicConfigs(ctx, unknown)).On(unknown, nil)).Err, kerr.UnknownTopicOrPartition)
	})
	Check("configs: a broker's are described and altered", func() {
		node := Got(admin.BrokerMetadata(ctx)).Brokers[0].NodeID
		value := func() string {
			for _, each := range Got(admin.DescribeBrokerConfigs(ctx, node))[0].Configs {
				if each.Key == "log.cleaner.backoff.ms" {
					return each.MaybeValue()
				}
			}
			return ""
		}
		before := value()
		change := kadm.AlterConfig{Name: "log.cleaner.backoff.ms", Value: text("14000")}
		Must(Got(admin.AlterBrokerConfigs(ctx, []kadm.AlterConfig{change}, node))[0].Err)
		Until("it is altered", func() bool { return value() == "14000" })
		change.Op = kadm.DeleteConfig
		Must(Got(admin.AlterBrokerConfigs(ctx, []kadm.AlterConfig{change}, node))[0].Err)
		Until("it is as before", func() bool { return value() == before })
	})
	Check("configs: those that are refused while a broker runs", func() {
		node := Got(admin.BrokerMetadata(ctx)).Brokers[0].NodeID
		change := kadm.AlterConfig{Name: "node.id", Value: text("9")}
		Refused(Got(admin.AlterBrokerConfigs(ctx, []kadm.AlterConfig{change}, node))[0].Err, kerr.InvalidRequest)
	})
	Check("configs: resources that have some are listed", func() {
		topic := newTopic(1)
		listed := Got(admin.ListConfigResources(ctx, kmsg.ConfigResourceTypeTopic)).Resources
		True(slices.ContainsFunc(listed, func(each kadm.ConfigResource) bool { return each.Name == topic }), "%s is listed", topic)
	})
	Check("configs: a group's are set and described", func() {
		group := Unique("group")
		setOfGroup(group, "consumer.session.timeout.ms", "50000")
		asked := kmsg.NewDescribeConfigsRequestResource()
		asked.ResourceType, asked.ResourceName, asked.ConfigNames =
			kmsg.ConfigResourceTypeGroupConfig, group, []string{"consumer.session.timeout.ms"}
		describing := kmsg.NewPtrDescribeConfigsRequest()
		describing.Resources = append(describing.Resources, asked)
		Until("it is set", func() bool {
			told := Got(describing.RequestWith(ctx, raw)).Resources[0].Configs
			return len(told) == 1 && *told[0].Value == "50000"
		})
	})
	Check("configs: quotas are altered, described and removed", func() {
		user := text(Unique("user"))
		entity := kadm.ClientQuotaEntity{{Type: "user", Name: user}}
		alter := func(op kadm.AlterClientQuotaOp) {
			for _, each := range Got(admin.AlterClientQuotas(ctx, []kadm.AlterClientQuotaEntry{{Entity: entity, Ops: []kadm.AlterClientQuotaOp{op}}})) {
				Must(each.Err)
			}
		}
		asked := []kadm.DescribeClientQuotaComponent{{Type: "user", MatchName: user, MatchType: kmsg.QuotasMatchTypeExact}}
		alter(kadm.AlterClientQuotaOp{Key: "producer_byte_rate", Value: 1e6})
		told := func() []kadm.DescribedClientQuota { return Got(admin.DescribeClientQuotas(ctx, true, asked)) }
		Until("it is set", func() bool { return len(told()) == 1 })
		Equal(told()[0].Values, []kadm.ClientQuotaValue{{Key: "producer_byte_rate", Value: 1e6}})
		alter(kadm.AlterClientQuotaOp{Key: "producer_byte_rate", Remove: true})
		Until("it is removed", func() bool { return len(told()) == 0 })
	})
	Check("configs: features are told", func() {
		answer := Got(kmsg.NewPtrApiVersionsRequest().RequestWith(ctx, raw))
		finalized := map[string]int16{}
		for _, each := range answer.FinalizedFeatures {
			finalized[each.Name] = each.MaxVersionLevel
		}
		True(finalized["metadata.version"] > 0, "metadata.version is told, of %s", strconv.Itoa(len(finalized)))
	})
}
