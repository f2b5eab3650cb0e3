package main

import (
	"context"
	"slices"
	"time"

	. "checks"

	"github.com/IBM/sarama"
)

// member joins a group, and joins it again after each rebalance, as an application does.
type member struct {
	group sarama.ConsumerGroup
	stop  context.CancelFunc
	done  chan struct{}
	seen  chan *sarama.ConsumerMessage
	sees  func(sarama.ConsumerGroupSession, *sarama.ConsumerMessage)
}

func (*member) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (*member) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (each *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for one := range claim.Messages() {
		each.sees(session, one)
		each.seen <- one
	}
	return nil
}

func mark(session sarama.ConsumerGroupSession, one *sarama.ConsumerMessage) {
	session.MarkMessage(one, "")
}

func join(group, topic string, sees func(sarama.ConsumerGroupSession, *sarama.ConsumerMessage), changes ...func(*sarama.Config)) *member {
	running, stop := context.WithCancel(context.Background())
	each := &member{
		group: Got(sarama.NewConsumerGroup([]string{Bootstrap()}, group, config(changes...))),
		stop:  stop, done: make(chan struct{}), seen: make(chan *sarama.ConsumerMessage, 10_000), sees: sees,
	}
	go func() {
		defer close(each.done)
		for running.Err() == nil {
			if err := each.group.Consume(running, []string{topic}, each); err != nil {
				return
			}
		}
	}()
	return each
}

func (each *member) leave() {
	each.stop()
	<-each.done
	each.group.Close()
}

func (each *member) next() *sarama.ConsumerMessage {
	select {
	case one := <-each.seen:
		return one
	case <-time.After(20 * time.Second):
		panic("waited for a record")
	}
}

func describedGroup(group string) *sarama.GroupDescription {
	return Got(admin.DescribeConsumerGroups([]string{group}))[0]
}

// shares are the sorted partitions of each member, once they are as many as is said, and all partitions are theirs.
func shares(group string, members, partitions int) (found [][]int32) {
	Until("all members have their share", func() bool {
		now := describedGroup(group)
		found = nil
		var all []int32
		for _, each := range now.Members {
			assigned, err := each.GetMemberAssignment()
			if err != nil || assigned == nil {
				return false
			}
			var share []int32
			for _, topic := range assigned.Topics {
				share = append(share, topic...)
			}
			all = append(all, share...)
			slices.Sort(share)
			found = append(found, share)
		}
		slices.Sort(all)
		return now.State == "Stable" && len(now.Members) == members && len(slices.Compact(all)) == partitions
	})
	slices.SortFunc(found, slices.Compare)
	return found
}

func static(name string) func(*sarama.Config) {
	return func(each *sarama.Config) { each.Consumer.Group.InstanceId = name }
}

func groups() {
	for name, one := range map[string]struct {
		strategy sarama.BalanceStrategy
		wanted   [][]int32
	}{
		"range":              {sarama.NewBalanceStrategyRange(), [][]int32{{0, 1}, {2, 3}}},
		"round robin":        {sarama.NewBalanceStrategyRoundRobin(), [][]int32{{0, 2}, {1, 3}}},
		"sticky":             {sarama.NewBalanceStrategySticky(), nil},
		"cooperative sticky": {sarama.NewBalanceStrategyCooperativeSticky(), nil},
	} {
		Check("groups: "+name+": two members share, one leaves, the other has all", func() {
			topic, group := newTopic(4), Unique("group")
			strategy := func(each *sarama.Config) {
				each.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{one.strategy}
			}
			first := join(group, topic, mark, strategy)
			defer first.leave()
			Equal(shares(group, 1, 4), [][]int32{{0, 1, 2, 3}})
			second := join(group, topic, mark, strategy)
			found := shares(group, 2, 4)
			Equal([]int{len(found[0]), len(found[1])}, []int{2, 2})
			if one.wanted != nil {
				Equal(found, one.wanted)
			}
			Equal(describedGroup(group).Protocol, one.strategy.Name())
			second.leave()
			Equal(shares(group, 1, 4), [][]int32{{0, 1, 2, 3}})
			for partition := range int32(4) {
				Must(send(on(topic, partition, "some")))
			}
			for range 4 {
				Equal(string(first.next().Value), "some")
			}
		})
	}
	Check("groups: each record goes to one member", func() {
		topic, group := newTopic(4), Unique("group")
		first, second := join(group, topic, mark), join(group, topic, mark)
		defer first.leave()
		defer second.leave()
		shares(group, 2, 4)
		for partition := range int32(4) {
			Must(send(on(topic, partition, numbers(0, 25)...)))
		}
		Until("all are seen", func() bool { return len(first.seen)+len(second.seen) >= 100 })
		Equal([]int{len(first.seen), len(second.seen)}, []int{50, 50})
	})
	Check("groups: a member dies, and the other has all after its session", func() {
		topic, group, wires := newTopic(2), Unique("group"), new(wires)
		short := func(each *sarama.Config) { each.Consumer.Group.Session.Timeout = time.Second }
		first := join(group, topic, mark, short, wires.carry)
		second := join(group, topic, mark, short)
		defer second.leave()
		shares(group, 2, 2)
		wires.die()
		Equal(shares(group, 1, 2), [][]int32{{0, 1}})
		first.stop()
	})
	Check("groups: a static member is away for a moment, and keeps its place", func() {
		topic, group := newTopic(2), Unique("group")
		first, second := join(group, topic, mark, static("one")), join(group, topic, mark, static("two"))
		defer first.leave()
		shares(group, 2, 2)
		second.leave()
		Equal(len(describedGroup(group).Members), 2)
		second = join(group, topic, mark, static("two"))
		defer second.leave()
		Must(send(on(topic, 0, "a")))
		Must(send(on(topic, 1, "b")))
		first.next()
		second.next()
	})
	Check("groups: a static member is put out by an admin", func() {
		topic, group := newTopic(2), Unique("group")
		first, second := join(group, topic, mark, static("one")), join(group, topic, mark, static("two"))
		defer second.leave()
		shares(group, 2, 2)
		first.leave()
		out := Got(admin.RemoveMemberFromConsumerGroup(group, []string{"one"}))
		Equal(out.Members[0].Err, sarama.ErrNoError)
		shares(group, 1, 2)
	})
	Check("groups: a static member is shut out by another of its name", func() {
		topic, group := newTopic(1), Unique("group")
		first := Got(sarama.NewConsumerGroup([]string{Bootstrap()}, group, config(static("one"))))
		defer first.Close()
		ended := make(chan error, 1)
		go func() {
			for {
				handler := &member{seen: make(chan *sarama.ConsumerMessage, 10), sees: mark}
				if err := first.Consume(context.Background(), []string{topic}, handler); err != nil {
					ended <- err
					return
				}
			}
		}()
		shares(group, 1, 1)
		second := join(group, topic, mark, static("one"))
		defer second.leave()
		select {
		case err := <-ended:
			Refused(err, sarama.ErrFencedInstancedId)
		case err := <-first.Errors():
			Refused(err, sarama.ErrFencedInstancedId)
		case <-time.After(20 * time.Second):
			panic("waited for the error")
		}
	})
	Check("groups: partitions that are added are shared", func() {
		topic, group := newTopic(1), Unique("group")
		often := func(each *sarama.Config) { each.Metadata.RefreshFrequency = 300 * time.Millisecond }
		first, second := join(group, topic, mark, often), join(group, topic, mark, often)
		defer first.leave()
		defer second.leave()
		shares(group, 2, 1)
		Must(admin.CreatePartitions(topic, 4, nil, false))
		found := shares(group, 2, 4)
		Equal([]int{len(found[0]), len(found[1])}, []int{2, 2})
	})
	Check("groups: a session too short is refused", func() {
		group := Got(sarama.NewConsumerGroup([]string{Bootstrap()}, Unique("group"), config(func(each *sarama.Config) {
			each.Consumer.Group.Session.Timeout, each.Consumer.Group.Heartbeat.Interval = 100*time.Millisecond, 20*time.Millisecond
		})))
		defer group.Close()
		err := group.Consume(context.Background(), []string{newTopic(1)}, &member{})
		Refused(err, sarama.ErrInvalidSessionTimeout)
	})
	Check("groups: listed and described, and deleted when they are empty", func() {
		topic, group := newTopic(1), Unique("group")
		one := join(group, topic, mark, func(each *sarama.Config) { each.ClientID = "named" })
		shares(group, 1, 1)
		Equal(Got(admin.ListConsumerGroups())[group], "consumer")
		for _, each := range describedGroup(group).Members {
			Equal(each.ClientId, "named")
			Equal(Got(each.GetMemberMetadata()).Topics, []string{topic})
		}
		Refused(admin.DeleteConsumerGroup(group), sarama.ErrNonEmptyGroup)
		one.leave()
		Until("it is empty", func() bool { return describedGroup(group).State == "Empty" })
		Must(admin.DeleteConsumerGroup(group))
		Equal(describedGroup(group).State, "Dead")
		Refused(admin.DeleteConsumerGroup(group), sarama.ErrGroupIDNotFound)
	})
	Check("groups: paused and resumed", func() {
		topic, group := newTopic(1), Unique("group")
		one := join(group, topic, mark)
		defer one.leave()
		shares(group, 1, 1)
		Must(send(on(topic, 0, "now")))
		one.next()
		one.group.PauseAll()
		time.Sleep(300 * time.Millisecond)
		Must(send(on(topic, 0, "later")))
		time.Sleep(300 * time.Millisecond)
		Equal(len(one.seen), 0)
		one.group.ResumeAll()
		Equal(string(one.next().Value), "later")
	})
}
