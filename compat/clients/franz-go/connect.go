package main

import (
	"errors"
	"fmt"

	. "checks"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

func connect() {
	Check("connect: brokers, controller and cluster are told", func() {
		told := Got(admin.BrokerMetadata(ctx))
		Equal(len(told.Brokers), 1)
		Equal(fmt.Sprintf("%s:%d", told.Brokers[0].Host, told.Brokers[0].Port), Bootstrap())
		Equal(told.Controller, told.Brokers[0].NodeID)
		Equal(len(told.Cluster), 22)
	})
	Check("connect: versions are told", func() {
		for _, broker := range Got(admin.ApiVersions(ctx)) {
			Must(broker.Err)
			for _, key := range []kmsg.Key{kmsg.Produce, kmsg.Fetch, kmsg.Metadata, kmsg.JoinGroup, kmsg.OffsetCommit} {
				lowest, highest, exists := broker.KeyVersions(key.Int16())
				True(exists && lowest <= highest, "%v is there", key.Name())
			}
		}
	})
	Check("connect: the version is guessed from what is there", func() {
		for _, broker := range Got(admin.ApiVersions(ctx)) {
			Equal(broker.VersionGuess(), "v4.3")
		}
	})
	Check("connect: a ping is answered", func() {
		each := client(kgo.SoftwareNameAndVersion("barnabas-compat", "1.0"), kgo.ClientID("pinger"))
		defer each.Close()
		Must(each.Ping(ctx))
	})
	for version, versions := range map[string]*kversion.Versions{
		"2.1": kversion.V2_1_0(), "2.8": kversion.V2_8_0(), "3.9": kversion.V3_9_0(), "4.0": kversion.V4_0_0(),
	} {
		Check("connect: a client of Kafka "+version+" writes and reads", func() {
			topic, old := newTopic(1), kgo.MaxVersions(versions)
			send(on(topic, 0, "a", "b"), old)
			Equal(values(everything(topic, 2, old)), []string{"a", "b"})
		})
	}
	Check("connect: directories are described", func() {
		topic := newTopic(2)
		send(on(topic, 1, "some"))
		described := Got(admin.DescribeAllLogDirs(ctx, kadm.TopicsSet{topic: {0: {}, 1: {}}}))
		node := Got(admin.BrokerMetadata(ctx)).Controller
		found, exists := described[node].LookupPartition(topic, 1)
		True(exists && found.Size > 0, "partition 1 has a size")
	})
	Check("connect: leaders are told, and need no election", func() {
		topic := newTopic(1)
		elected := Got(admin.ElectLeaders(ctx, kadm.ElectPreferredReplica, kadm.TopicsSet{topic: {0: {}}}))
		Refused(elected[topic][0].Err, kerr.ElectionNotNeeded)
		moving := Got(admin.ListPartitionReassignments(ctx, kadm.TopicsSet{topic: {0: {}}}))
		Equal(len(moving), 0)
	})
	Check("connect: where nobody authorizes there are no ACLs", func() {
		acls := kadm.NewACLs().Topics("any").Allow("User:any").Operations(kadm.OpRead)
		created := Got(admin.CreateACLs(ctx, acls))
		Refused(created[0].Err, kerr.SecurityDisabled)
		described := Got(admin.DescribeACLs(ctx, kadm.NewACLs().AnyResource().AllowHosts().Operations()))
		for _, each := range described {
			Refused(each.Err, kerr.SecurityDisabled)
		}
	})
	Check("connect: users of SCRAM are there once they are put in", func() {
		user := Unique("user")
		users := func() kadm.DescribedUserSCRAM { return Got(admin.DescribeUserSCRAMs(ctx, user))[user] }
		Refused(users().Err, kerr.ResourceNotFound)
		put := kadm.UpsertSCRAM{User: user, Mechanism: kadm.ScramSha256, Iterations: 8192, Password: "secret"}
		Must(Got(admin.AlterUserSCRAMs(ctx, nil, []kadm.UpsertSCRAM{put})).Error())
		Until("it is put in", func() bool { return users().Err == nil })
		Equal(users().CredInfos, []kadm.CredInfo{{Mechanism: kadm.ScramSha256, Iterations: 8192}})
		drop := kadm.DeleteSCRAM{User: user, Mechanism: kadm.ScramSha256}
		Must(Got(admin.AlterUserSCRAMs(ctx, []kadm.DeleteSCRAM{drop}, nil)).Error())
		Until("it is gone", func() bool { return errors.Is(users().Err, kerr.ResourceNotFound) })
	})
}
