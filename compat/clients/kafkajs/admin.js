'use strict'

const assert = require('node:assert/strict')
const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ConfigResourceTypes, ResourcePatternTypes } = require('kafkajs')
const { bootstrap, check, refused, unique, until } = require('./checks')
const { admin, alone, everything, kafka, newTopic, numbers, partitionsOf, send, values } = require('./cluster')

check('connect: brokers, controller and cluster are told', async () => {
  const { brokers, controller, clusterId } = await admin.describeCluster()
  assert.deepEqual(brokers.map(({ host, port }) => `${host}:${port}`), [bootstrap])
  assert.equal(controller, brokers[0].nodeId)
  assert.equal(clusterId.length, 22)
})

check('connect: brokers are asked for when they are needed', async () => {
  const each = kafka({ brokers: async () => [bootstrap] }).admin()
  await each.connect()
  assert.ok(Array.isArray(await each.listTopics()))
  await each.disconnect()
})

check('connect: where nobody authorizes there are no ACLs', async () => {
  const acl = {
    resourceType: AclResourceTypes.TOPIC,
    resourceName: 'any',
    resourcePatternType: ResourcePatternTypes.LITERAL,
    principal: 'User:any',
    host: '*',
    operation: AclOperationTypes.READ,
    permissionType: AclPermissionTypes.ALLOW,
  }
  await refused(admin.createAcls({ acl: [acl] }), 'SECURITY_DISABLED')
  await refused(admin.describeAcls(acl), 'SECURITY_DISABLED')
})

check('connect: no partition is on its way to another broker', async () => {
  const topic = await newTopic()
  const { topics } = await admin.listPartitionReassignments({ topics: [{ topic, partitions: [0] }] })
  assert.deepEqual(topics, [])
})

check('topics: created with partitions and configs, described and listed', async () => {
  const topic = await newTopic(3, { 'retention.ms': '60000' })
  const found = await partitionsOf(topic)
  assert.deepEqual(found.map((each) => each.partitionId).sort(), [0, 1, 2])
  for (const each of found) assert.deepEqual([each.replicas, each.isr], [[each.leader], [each.leader]])
  assert.ok((await admin.listTopics()).includes(topic))
  assert.equal(await topicConfig(topic, 'retention.ms'), '60000')
})

check('topics: created with replicas assigned by hand', async () => {
  const topic = unique('kafkajs')
  const { controller } = await admin.describeCluster()
  const replicaAssignment = [0, 1].map((partition) => ({ partition, replicas: [controller] }))
  await admin.createTopics({ waitForLeaders: false, topics: [{ topic, replicaAssignment }] })
  await until('two partitions', async () => (await partitionsOf(topic)).length === 2)
})

check('topics: tried, and not created', async () => {
  const topic = unique('kafkajs')
  assert.equal(await admin.createTopics({ validateOnly: true, waitForLeaders: false, topics: [{ topic }] }), true)
  assert.deepEqual(await partitionsOf(topic), [])
})

const refuses = (what, type, topic) =>
  check(`topics: refused: ${what}`, () => refused(admin.createTopics({ topics: [{ topic: unique('t'), ...topic }] }), type))

refuses('a name that cannot be', 'INVALID_TOPIC_EXCEPTION', { topic: 'no/topic' })
refuses('no partitions', 'INVALID_PARTITIONS', { numPartitions: 0 })
refuses('more replicas than brokers', 'INVALID_REPLICATION_FACTOR', { replicationFactor: 2 })
refuses('a config that is none', 'INVALID_CONFIG', { configEntries: [{ name: 'retention.ms', value: 'soon' }] })

check('topics: one that exists is not created again', async () => {
  const topic = await newTopic()
  assert.equal(await admin.createTopics({ topics: [{ topic }] }), false)
})

check('topics: partitions are added, and not taken away', async () => {
  const topic = await newTopic()
  const become = (count, validateOnly = false) => admin.createPartitions({ validateOnly, topicPartitions: [{ topic, count }] })
  await become(3, true)
  assert.equal((await partitionsOf(topic)).length, 1)
  await become(3)
  await until('three partitions', async () => (await partitionsOf(topic)).length === 3)
  await refused(become(2), 'INVALID_PARTITIONS')
  await send(topic, ['new'], { partition: 2 })
})

check('topics: unknown ones are not described, given partitions or deleted', async () => {
  const topic = unique('unknown')
  const unknown = 'UNKNOWN_TOPIC_OR_PARTITION'
  await refused(admin.fetchTopicMetadata({ topics: [topic] }), unknown)
  await refused(admin.createPartitions({ topicPartitions: [{ topic, count: 3 }] }), unknown)
  await refused(admin.deleteTopics({ topics: [topic] }), unknown)
})

check('topics: deleted, and created again without records', async () => {
  const topic = await newTopic()
  await send(topic, ['old'])
  await admin.deleteTopics({ topics: [topic] })
  await until('it is gone', async () => (await partitionsOf(topic)).length === 0)
  await admin.createTopics({ waitForLeaders: false, topics: [{ topic }] })
  await until('it is known', async () => (await partitionsOf(topic)).length === 1)
  await send(topic, ['new'])
  assert.deepEqual(values(await everything(topic, 1)), ['new'])
})

check('topics: created by writing to them', async () => {
  const topic = unique('kafkajs-by-itself')
  await send(topic, ['first'], { config: { allowAutoTopicCreation: true, retry: { retries: 10 } } })
  assert.deepEqual(values(await everything(topic, 1)), ['first'])
})

async function describe(name, configNames, type = ConfigResourceTypes.TOPIC) {
  const { resources } = await admin.describeConfigs({ includeSynonyms: true, resources: [{ type, name, configNames }] })
  return resources[0].configEntries
}

async function topicConfig(topic, name) {
  return (await describe(topic, [name]))[0].configValue
}

const alter = (topic, name, value, validateOnly = false) =>
  admin.alterConfigs({
    validateOnly,
    resources: [{ type: ConfigResourceTypes.TOPIC, name: topic, configEntries: [{ name, value }] }],
  })

check('configs: a topic\'s are described, with where they come from', async () => {
  const topic = await newTopic(1, { 'cleanup.policy': 'compact' })
  assert.ok((await describe(topic)).length > 25)
  const [policy] = await describe(topic, ['cleanup.policy'])
  assert.deepEqual([policy.configValue, policy.isDefault, policy.configSource], ['compact', false, 1])
  const [retention] = await describe(topic, ['retention.ms'])
  assert.deepEqual([retention.configValue, retention.configSource], ['604800000', 5])
})

check('configs: a topic\'s are altered, or only tried', async () => {
  const topic = await newTopic(1, { 'retention.ms': '1000' })
  await alter(topic, 'segment.ms', '5000', true)
  assert.equal(await topicConfig(topic, 'retention.ms'), '1000')
  await alter(topic, 'segment.ms', '5000')
  await until('it is altered', async () => (await topicConfig(topic, 'segment.ms')) === '5000')
  assert.equal(await topicConfig(topic, 'retention.ms'), '604800000')
})

check('configs: refused: values that cannot be, and topics that are not', async () => {
  await refused(alter(await newTopic(), 'retention.ms', 'soon'), 'INVALID_CONFIG')
  await refused(alter(unique('unknown'), 'retention.ms', '1'), 'UNKNOWN_TOPIC_OR_PARTITION')
  await refused(describe(unique('unknown')), 'UNKNOWN_TOPIC_OR_PARTITION')
})

check('configs: a broker\'s are described', async () => {
  const { controller } = await admin.describeCluster()
  const [found] = await describe(String(controller), ['log.cleaner.backoff.ms'], ConfigResourceTypes.BROKER)
  assert.equal(found.configValue, '15000')
})

async function ends(topic) {
  const [{ low, high }] = await alone((one) => one.fetchTopicOffsets(topic))
  return [low, high]
}

function deleteBefore(topic, offset) {
  return alone(async (one) => {
    // This makes it know the leader, without which it deletes nothing.
    await one.fetchTopicOffsets(topic)
    await one.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset }] })
  })
}

check('records: deleted up to an offset within a batch', async () => {
  const topic = await newTopic()
  await send(topic, numbers(0, 10))
  await deleteBefore(topic, '4')
  assert.deepEqual(await ends(topic), ['4', '10'])
  assert.deepEqual(values(await everything(topic, 6)), numbers(4, 10))
})

check('records: all are deleted, and offsets go on', async () => {
  const topic = await newTopic()
  await send(topic, numbers(0, 10))
  await deleteBefore(topic, '-1')
  assert.deepEqual(await ends(topic), ['10', '10'])
  const [{ baseOffset }] = await send(topic, ['new'])
  assert.equal(baseOffset, '10')
})

check('records: refused: beyond the end', async () => {
  const error = await deleteBefore(await newTopic(), '11').catch((reason) => reason.cause ?? reason)
  assert.deepEqual(error.partitions?.map((each) => each.error.type), ['OFFSET_OUT_OF_RANGE'])
})
