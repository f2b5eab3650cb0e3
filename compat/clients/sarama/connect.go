package main

import (
	. "checks"

	"github.com/IBM/sarama"
)

// resourceNotFound is a code of Kafka's of which sarama has no name.
const resourceNotFound = sarama.KError(91)

func connect() {
	Check("connect: brokers and the controller are told", func() {
		brokers, controller, err := admin.DescribeCluster()
		Must(err)
		Equal(len(brokers), 1)
		Equal(brokers[0].Addr(), Bootstrap())
		Equal(controller, brokers[0].ID())
	})
	Check("connect: versions are told", func() {
		broker := sarama.NewBroker(Bootstrap())
		Must(broker.Open(config()))
		defer broker.Close()
		told := Got(broker.ApiVersions(&sarama.ApiVersionsRequest{Version: 3, ClientSoftwareName: "sarama", ClientSoftwareVersion: "1"}))
		True(len(told.ApiKeys) > 40, "there are %d", len(told.ApiKeys))
	})
	for _, version := range []sarama.KafkaVersion{
		sarama.V2_1_0_0, sarama.V2_8_0_0, sarama.V3_6_0_0, sarama.V4_0_0_0, sarama.MaxVersion,
	} {
		Check("connect: a client of Kafka "+version.String()+" writes and reads", func() {
			topic, old := newTopic(1), func(each *sarama.Config) { each.Version = version }
			Must(send(on(topic, 0, "a", "b"), old))
			Equal(values(everything(topic, 2, old)), []string{"a", "b"})
		})
	}
	Check("connect: without asking for versions", func() {
		topic := newTopic(1)
		blind := func(each *sarama.Config) { each.ApiVersionsRequest, each.Version = false, sarama.V2_8_0_0 }
		Must(send(on(topic, 0, "a"), blind))
		Equal(values(everything(topic, 1, blind)), []string{"a"})
	})
	Check("connect: a partition's leader, its epoch, replicas and those in sync", func() {
		topic, each := newTopic(2), client()
		defer each.Close()
		leader, epoch, err := each.LeaderAndEpoch(topic, 1)
		Must(err)
		Equal(leader.Addr(), Bootstrap())
		Equal(epoch, 0)
		Equal(Got(each.Replicas(topic, 1)), []int32{leader.ID()})
		Equal(Got(each.InSyncReplicas(topic, 1)), []int32{leader.ID()})
		Equal(len(Got(each.OfflineReplicas(topic, 1))), 0)
		_, err = each.Partitions(Unique("unknown"))
		Refused(err, sarama.ErrUnknownTopicOrPartition)
	})
	Check("connect: directories are described", func() {
		topic := newTopic(1)
		Must(send(on(topic, 0, "some")))
		var size int64
		for _, directories := range Got(admin.DescribeLogDirs([]int32{Got(admin.Controller()).ID()})) {
			for _, each := range directories[0].Topics {
				if each.Topic == topic {
					size = each.Partitions[0].Size
				}
			}
		}
		True(size > 0, "%s has a size", topic)
	})
	Check("connect: leaders are told, and need no election", func() {
		topic := newTopic(1)
		elected := Got(admin.ElectLeaders(sarama.PreferredElection, map[string][]int32{topic: {0}}))
		Equal(elected[topic][0].ErrorCode, sarama.ErrElectionNotNeeded)
		Equal(len(Got(admin.ListPartitionReassignments(topic, []int32{0}))), 0)
	})
	Check("connect: where nobody authorizes there are no ACLs", func() {
		Refused(admin.CreateACL(
			sarama.Resource{ResourceType: sarama.AclResourceTopic, ResourceName: "any", ResourcePatternType: sarama.AclPatternLiteral},
			sarama.Acl{Principal: "User:any", Host: "*", Operation: sarama.AclOperationRead, PermissionType: sarama.AclPermissionAllow},
		), sarama.ErrSecurityDisabled)
	})
	Check("connect: users of SCRAM are there once they are put in", func() {
		user := Unique("user")
		users := func() *sarama.DescribeUserScramCredentialsResult {
			return Got(admin.DescribeUserScramCredentials([]string{user}))[0]
		}
		Equal(users().ErrorCode, resourceNotFound)
		put := Got(admin.UpsertUserScramCredentials([]sarama.AlterUserScramCredentialsUpsert{{
			Name: user, Mechanism: sarama.SCRAM_MECHANISM_SHA_512, Iterations: 8192, Salt: []byte("salty"), Password: []byte("secret"),
		}}))
		Equal(put[0].ErrorCode, sarama.ErrNoError)
		Until("the user is there", func() bool { return users().ErrorCode == sarama.ErrNoError })
		Equal(users().CredentialInfos[0].Iterations, 8192)
		Got(admin.DeleteUserScramCredentials([]sarama.AlterUserScramCredentialsDelete{
			{Name: user, Mechanism: sarama.SCRAM_MECHANISM_SHA_512},
		}))
		Until("the user is gone", func() bool { return users().ErrorCode == resourceNotFound })
	})
}
