package main

import (
	"fmt"

	. "checks"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// nextGroups are those of KIP-848, in which the broker shares partitions out.
func nextGroups() {
	next := func(group string) kadm.DescribedConsumerGroup {
		return Got(admin.DescribeConsumerGroups(ctx, group))[group]
	}
	stable := func(group string, members int) {
		var now kadm.DescribedConsumerGroup
		defer func() {
			if reason := recover(); reason != nil {
				panic(fmt.Errorf("%v; it is %s with %d members", reason, now.State, len(now.Members)))
			}
		}()
		Until("the group is stable", func() bool {
			now = next(group)
			return now.State == "Stable" && len(now.Members) == members
		})
	}
	for name, balancer := range map[string]kgo.GroupBalancer{"range": kgo.RangeBalancer(), "uniform": kgo.StickyBalancer()} {
		Check("next groups: "+name+": two members share, one leaves", func() {
			topic, group := newTopic(4), Unique("group")
			options := []kgo.Opt{kgo.ServerSideBalancer(), kgo.Balancers(balancer)}
			first, second := join(group, topic, options...), join(group, topic, options...)
			defer first.leave()
			stable(group, 2)
			Equal(next(group).AssignorName, name)
			second.leave()
			stable(group, 1)
			for partition := range int32(4) {
				send(on(topic, partition, "some"))
			}
			for range 4 {
				Equal(first.next(), "some")
			}
		})
	}
	Check("next groups: what is committed is read by who comes next", func() {
		topic, group := newTopic(1), Unique("group")
		send(on(topic, 0, "one"))
		first := join(group, topic, kgo.ServerSideBalancer(), kgo.Balancers(kgo.RangeBalancer()))
		Equal(first.next(), "one")
		stable(group, 1)
		first.leave()
		send(on(topic, 0, "two"))
		second := join(group, topic, kgo.ServerSideBalancer(), kgo.Balancers(kgo.RangeBalancer()))
		defer second.leave()
		Equal(second.next(), "two")
	})
	Check("next groups: a static member comes back", func() {
		topic, group := newTopic(2), Unique("group")
		options := []kgo.Opt{kgo.ServerSideBalancer(), kgo.Balancers(kgo.RangeBalancer()), kgo.InstanceID("one")}
		first := join(group, topic, options...)
		stable(group, 1)
		before := next(group).Epoch
		first.leave()
		second := join(group, topic, options...)
		defer second.leave()
		stable(group, 1)
		Equal(next(group).Epoch, before)
	})
	Check("next groups: listed by their type, and deleted", func() {
		topic, group := newTopic(1), Unique("group")
		one := join(group, topic, kgo.ServerSideBalancer(), kgo.Balancers(kgo.RangeBalancer()))
		stable(group, 1)
		_, listed := Got(admin.ListGroupsByType(ctx, []string{"consumer"}))[group]
		True(listed, "%s is listed", group)
		one.leave()
		Until("it is empty", func() bool { return next(group).State == "Empty" })
		Must(Got(admin.DeleteGroups(ctx, group))[group].Err)
	})
	Check("share groups: records are acknowledged, released and rejected", func() {
		topic, group := newTopic(1), Unique("share")
		setOfGroup(group, "share.auto.offset.reset", "earliest")
		share := client(kgo.ShareGroup(group), kgo.ConsumeTopics(topic))
		defer share.Close()
		send(on(topic, 0, "done", "again", "never"))
		for _, each := range take(share, 3) {
			each.Ack(map[string]kgo.AckStatus{"done": kgo.AckAccept, "again": kgo.AckRelease, "never": kgo.AckReject}[string(each.Value)])
		}
		Must(share.FlushAcks(ctx))
		Equal(values(take(share, 1)), []string{"again"})
	})
}
