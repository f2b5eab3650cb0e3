package main

import (
	"context"
	"slices"
	"time"

	. "checks"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// member joins a group and polls until it is closed, as an application would.
type member struct {
	*kgo.Client
	seen chan *kgo.Record
	stop context.CancelFunc
}

func join(group, topic string, options ...kgo.Opt) *member {
	polling, stop := context.WithCancel(ctx)
	each := &member{seen: make(chan *kgo.Record, 10_000), stop: stop}
	each.Client = client(append([]kgo.Opt{
		kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.HeartbeatInterval(100 * time.Millisecond), kgo.SessionTimeout(6 * time.Second),
		kgo.RebalanceTimeout(6 * time.Second), kgo.FetchMaxWait(200 * time.Millisecond),
		kgo.MetadataMinAge(100 * time.Millisecond), kgo.MetadataMaxAge(500 * time.Millisecond),
	}, options...)...)
	go func() {
		for polling.Err() == nil {
			each.PollFetches(polling).EachRecord(func(one *kgo.Record) { each.seen <- one })
		}
	}()
	return each
}

func (each *member) leave() {
	each.stop()
	each.Close()
}

func (each *member) next() string {
	select {
	case one := <-each.seen:
		return string(one.Value)
	case <-time.After(20 * time.Second):
		panic("waited for a record")
	}
}

func describedGroup(group string) kadm.DescribedGroup {
	return Got(admin.DescribeGroups(ctx, group))[group]
}

// shares are the sorted partitions of each member, once they are as many as is said, and all partitions are theirs.
func shares(group string, members, partitions int) (found [][]int32) {
	Until("all members have their share", func() bool {
		now := describedGroup(group)
		found = nil
		var all []int32
		for _, each := range now.Members {
			if assigned, ok := each.Assigned.AsConsumer(); ok {
				var share []int32
				for _, topic := range assigned.Topics {
					share = append(share, topic.Partitions...)
				}
				all = append(all, share...)
				slices.Sort(share)
				found = append(found, share)
			}
		}
		slices.Sort(all)
		return now.State == "Stable" && len(now.Members) == members && len(slices.Compact(all)) == partitions
	})
	slices.SortFunc(found, func(a, b []int32) int { return slices.Compare(a, b) })
	return found
}

func groups() {
	for name, one := range map[string]struct {
		balancer kgo.GroupBalancer
		wanted   [][]int32
	}{
		"range":              {kgo.RangeBalancer(), [][]int32{{0, 1}, {2, 3}}},
		"round robin":        {kgo.RoundRobinBalancer(), [][]int32{{0, 2}, {1, 3}}},
		"sticky":             {kgo.StickyBalancer(), nil},
		"cooperative sticky": {kgo.CooperativeStickyBalancer(), nil},
	} {
		Check("groups: "+name+": two members share, one leaves, the other has all", func() {
			topic, group, balancer := newTopic(4), Unique("group"), kgo.Balancers(one.balancer)
			first := join(group, topic, balancer)
			defer first.leave()
			Equal(shares(group, 1, 4), [][]int32{{0, 1, 2, 3}})
			second := join(group, topic, balancer)
			found := shares(group, 2, 4)
			Equal([]int{len(found[0]), len(found[1])}, []int{2, 2})
			if one.wanted != nil {
				Equal(found, one.wanted)
			}
			Equal(describedGroup(group).Protocol, one.balancer.ProtocolName())
			second.leave()
			Equal(shares(group, 1, 4), [][]int32{{0, 1, 2, 3}})
			for partition := range int32(4) {
				send(on(topic, partition, "some"))
			}
			for range 4 {
				Equal(first.next(), "some")
			}
		})
	}
	Check("groups: a cooperative member keeps what it has while another joins", func() {
		topic, group := newTopic(4), Unique("group")
		lost := make(chan []int32, 10)
		first := join(group, topic, kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, gone map[string][]int32) {
			if len(gone[topic]) > 0 {
				lost <- gone[topic]
			}
		}))
		defer first.leave()
		shares(group, 1, 4)
		defer join(group, topic).leave()
		shares(group, 2, 4)
		Until("partitions are revoked", func() bool { return len(lost) > 0 })
		Equal(len(<-lost), 2)
	})
	Check("groups: each record goes to one member", func() {
		topic, group := newTopic(4), Unique("group")
		first, second := join(group, topic), join(group, topic)
		defer first.leave()
		defer second.leave()
		shares(group, 2, 4)
		for partition := range int32(4) {
			send(on(topic, partition, numbers(0, 25)...))
		}
		Until("all are seen", func() bool { return len(first.seen)+len(second.seen) == 100 })
		Equal([]int{len(first.seen), len(second.seen)}, []int{50, 50})
	})
	Check("groups: a member dies, and the other has all after its session", func() {
		topic, group, wires := newTopic(2), Unique("group"), new(wires)
		first := join(group, topic, kgo.SessionTimeout(time.Second), kgo.Dialer(wires.dial))
		second := join(group, topic, kgo.SessionTimeout(time.Second))
		defer second.leave()
		shares(group, 2, 2)
		wires.die()
		first.stop()
		Equal(shares(group, 1, 2), [][]int32{{0, 1}})
		go first.Close()
	})
	Check("groups: a static member is away for a moment, and nobody notices", func() {
		topic, group, eager := newTopic(2), Unique("group"), kgo.Balancers(kgo.RangeBalancer())
		first, second := join(group, topic, kgo.InstanceID("one"), eager), join(group, topic, kgo.InstanceID("two"), eager)
		defer func() { second.leave() }()
		defer first.leave()
		shares(group, 2, 2)
		send(on(topic, 0, "a"))
		send(on(topic, 1, "b"))
		first.next()
		second.next()
		_, before := first.GroupMetadata()
		second.leave()
		second = join(group, topic, kgo.InstanceID("two"), eager)
		send(on(topic, 0, "a"))
		send(on(topic, 1, "b"))
		first.next()
		second.next()
		_, after := first.GroupMetadata()
		Equal(after, before)
	})
	Check("groups: a static member is shut out by another of its name", func() {
		topic, group := newTopic(1), Unique("group")
		fenced := make(chan error, 100)
		first := client(kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.InstanceID("one"),
			kgo.HeartbeatInterval(100*time.Millisecond))
		defer first.Close()
		go func() {
			for _, each := range first.PollFetches(ctx).Errors() {
				fenced <- each.Err
			}
		}()
		shares(group, 1, 1)
		defer join(group, topic, kgo.InstanceID("one")).leave()
		select {
		case err := <-fenced:
			Refused(err, kerr.FencedInstanceID)
		case <-time.After(20 * time.Second):
			panic("waited for the error")
		}
	})
	Check("groups: a static member is put out by an admin", func() {
		topic, group := newTopic(2), Unique("group")
		first, second := join(group, topic, kgo.InstanceID("one")), join(group, topic, kgo.InstanceID("two"))
		shares(group, 2, 2)
		first.leave()
		out := Got(admin.LeaveGroup(ctx, kadm.LeaveGroup(group).InstanceIDs("one").Reason("it is gone")))
		Must(out.Error())
		shares(group, 1, 2)
		second.leave()
		Must(Got(admin.LeaveGroup(ctx, kadm.LeaveGroup(group).InstanceIDs("two"))).Error())
		refused := Got(admin.LeaveGroup(ctx, kadm.LeaveGroup(group).InstanceIDs("nobody")))
		Refused(refused["nobody"].Err, kerr.UnknownMemberID)
	})
	Check("groups: partitions that are added are shared", func() {
		topic, group := newTopic(1), Unique("group")
		first, second := join(group, topic), join(group, topic)
		defer first.leave()
		defer second.leave()
		shares(group, 2, 1)
		Must(Got(admin.CreatePartitions(ctx, 3, topic)).Error())
		found := shares(group, 2, 4)
		Equal([]int{len(found[0]), len(found[1])}, []int{2, 2})
	})
	Check("groups: a pattern's new topics are shared", func() {
		word, group := Unique("pattern"), Unique("group")
		createTopic(word+"-one", 1)
		first := join(group, "^"+word+".*", kgo.ConsumeRegex())
		defer first.leave()
		shares(group, 1, 1)
		createTopic(word+"-two", 3)
		send(on(word+"-two", 2, "seen"))
		Equal(first.next(), "seen")
	})
	Check("groups: no member speaks what the others do not", func() {
		topic, group := newTopic(1), Unique("group")
		defer join(group, topic, kgo.Balancers(kgo.RangeBalancer())).leave()
		shares(group, 1, 1)
		refused := make(chan error, 100)
		other := client(kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.Balancers(kgo.StickyBalancer()))
		defer other.Close()
		go func() {
			for _, each := range other.PollFetches(ctx).Errors() {
				refused <- each.Err
			}
		}()
		select {
		case err := <-refused:
			Refused(err, kerr.InconsistentGroupProtocol)
		case <-time.After(20 * time.Second):
			panic("waited for the error")
		}
	})
	Check("groups: a session too short or too long is refused", func() {
		for _, timeout := range []time.Duration{100 * time.Millisecond, time.Hour} {
			one := client(kgo.ConsumerGroup(Unique("group")), kgo.ConsumeTopics(newTopic(1)), kgo.SessionTimeout(timeout),
				kgo.RebalanceTimeout(2*time.Hour), kgo.HeartbeatInterval(50*time.Millisecond))
			patience, cancel := context.WithTimeout(ctx, 10*time.Second)
			Refused(one.PollFetches(patience).Err(), kerr.InvalidSessionTimeout)
			cancel()
			one.Close()
		}
	})
	Check("groups: listed and described, and deleted when they are empty", func() {
		topic, group := newTopic(1), Unique("group")
		one := join(group, topic, kgo.ClientID("named"))
		shares(group, 1, 1)
		Equal(Got(admin.ListGroups(ctx, "Stable"))[group].ProtocolType, "consumer")
		Equal(Got(admin.ListGroupsByType(ctx, []string{"classic"}))[group].State, "Stable")
		now := describedGroup(group)
		Equal([]string{now.ProtocolType, now.Members[0].ClientID}, []string{"consumer", "named"})
		Refused(Got(admin.DeleteGroups(ctx, group))[group].Err, kerr.NonEmptyGroup)
		one.leave()
		Until("it is empty", func() bool { return describedGroup(group).State == "Empty" })
		Must(Got(admin.DeleteGroups(ctx, group))[group].Err)
		Equal(describedGroup(group).State, "Dead")
		Refused(Got(admin.DeleteGroups(ctx, group))[group].Err, kerr.GroupIDNotFound)
	})
	Check("groups: a coordinator is found", func() {
		group := Unique("group")
		found := admin.FindGroupCoordinators(ctx, group)[group]
		Must(found.Err)
		Equal(found.NodeID, Got(admin.BrokerMetadata(ctx)).Controller)
	})
}
