'use strict'

const assert = require('node:assert/strict')
const net = require('node:net')
const { AssignerProtocol, PartitionAssigners } = require('kafkajs')
const { check, refused, unique, until } = require('./checks')
const { Reader, admin, newTopic, send, values } = require('./cluster')

const describe = async (group) => (await admin.describeGroups([group])).groups[0]

check('groups: two members share, one leaves, the other has all', async () => {
  const topic = await newTopic(4)
  const first = await Reader.open(topic)
  assert.deepEqual(await first.share(topic, 4), [0, 1, 2, 3])
  const second = await Reader.open(topic, { group: first.group })
  const shares = [await first.share(topic, 2), await second.share(topic, 2)]
  assert.deepEqual(shares.sort(), [[0, 2], [1, 3]])
  // A group that is about to share anew has none.
  await until('its protocol', async () => (await describe(first.group)).protocol === 'RoundRobinAssigner')
  await second.close()
  assert.deepEqual(await first.share(topic, 4), [0, 1, 2, 3])
  for (const partition of [0, 1, 2, 3]) await send(topic, ['some'], { partition })
  assert.equal((await first.take(4)).length, 4)
  await first.close()
})

check('groups: an assignor of one\'s own', async () => {
  const topic = await newTopic(3)
  // Everything goes to whoever is first by name.
  const greedy = ({ cluster }) => ({
    name: 'Greedy',
    version: 1,
    async assign({ members, topics }) {
      const [chosen] = members.map(({ memberId }) => memberId).sort()
      return members.map(({ memberId }) => ({
        memberId,
        memberAssignment: AssignerProtocol.MemberAssignment.encode({
          version: 1,
          userData: Buffer.alloc(0),
          assignment: Object.fromEntries(
            topics.map((each) => [each, memberId === chosen ? cluster.findTopicPartitionMetadata(each).map((one) => one.partitionId) : []]),
          ),
        }),
      }))
    },
    protocol({ topics }) {
      return {
        name: 'Greedy',
        metadata: AssignerProtocol.MemberMetadata.encode({ version: 1, topics, userData: Buffer.alloc(0) }),
      }
    },
  })
  const reader = await Reader.open(topic, { partitionAssigners: [greedy, PartitionAssigners.roundRobin] })
  await reader.share(topic, 3)
  await until('its protocol', async () => (await describe(reader.group)).protocol === 'Greedy')
  await reader.close()
})

check('groups: each record goes to one member', async () => {
  const topic = await newTopic(4)
  const first = await Reader.open(topic)
  const second = await Reader.open(topic, { group: first.group })
  await first.share(topic, 2)
  await second.share(topic, 2)
  for (const partition of [0, 1, 2, 3]) await send(topic, Array(25).fill('some'), { partition })
  await until('all are seen', () => first.seen.length + second.seen.length >= 100)
  assert.deepEqual([first.seen.length, second.seen.length], [50, 50])
  await Promise.all([first.close(), second.close()])
})

check('groups: a member dies, and the other has all after its session', async () => {
  const topic = await newTopic(2)
  const sockets = []
  let dead = false
  const socketFactory = ({ host, port, onConnect }) => {
    const socket = dead ? new net.Socket().destroy(new Error('the wire is cut')) : net.connect({ host, port }, onConnect)
    sockets.push(socket)
    return socket
  }
  const group = unique('group')
  const first = await Reader.open(topic, { group, sessionTimeout: 1000, client: { socketFactory } })
  const second = await Reader.open(topic, { group, sessionTimeout: 1000 })
  await first.share(topic, 1)
  await second.share(topic, 1)
  dead = true
  for (const socket of sockets) socket.destroy()
  assert.deepEqual(await second.share(topic, 2), [0, 1])
  await second.close()
})

check('groups: partitions that are added are shared', async () => {
  const topic = await newTopic(1)
  const reader = await Reader.open(topic)
  await reader.share(topic, 1)
  await admin.createPartitions({ topicPartitions: [{ topic, count: 3 }] })
  await reader.share(topic, 3)
  await send(topic, ['seen'], { partition: 2 })
  assert.deepEqual(values(await reader.take(1)), ['seen'])
  await reader.close()
})

check('groups: a session too short is refused', async () => {
  const topic = await newTopic()
  const reader = await Reader.open(topic, { sessionTimeout: 100, heartbeatInterval: 20, retry: { retries: 0 } }).catch((error) => ({ error }))
  await until('it is refused', () => reader.error)
  await refused(Promise.reject(reader.error), 'INVALID_SESSION_TIMEOUT')
})

check('groups: listed and described, and deleted when they are empty', async () => {
  const topic = await newTopic()
  const reader = await Reader.open(topic, { client: { clientId: 'named' } })
  await reader.share(topic, 1)
  await until('it is stable', async () => (await describe(reader.group)).state === 'Stable')
  const found = await describe(reader.group)
  assert.deepEqual([found.protocolType, found.members.length, found.members[0].clientId], ['consumer', 1, 'named'])
  assert.deepEqual(AssignerProtocol.MemberAssignment.decode(found.members[0].memberAssignment).assignment, { [topic]: [0] })
  assert.deepEqual(await reader.consumer.describeGroup(), found)
  const { groups } = await admin.listGroups()
  assert.ok(groups.some(({ groupId }) => groupId === reader.group))
  const remove = async () => {
    try {
      return (await admin.deleteGroups([reader.group]))[0].errorCode ?? 0
    } catch (error) {
      return error.groups[0].errorCode
    }
  }
  assert.equal(await remove(), 68, 'NON_EMPTY_GROUP')
  await reader.close()
  await until('it is empty', async () => (await describe(reader.group)).state === 'Empty')
  assert.equal(await remove(), 0)
  assert.equal((await describe(reader.group)).state, 'Dead')
  assert.equal(await remove(), 69, 'GROUP_ID_NOT_FOUND')
})

check('groups: stopped and run again', async () => {
  const topic = await newTopic()
  const reader = await Reader.open(topic)
  await reader.share(topic, 1)
  await reader.consumer.stop()
  await send(topic, ['later'])
  await reader.consumer.subscribe({ topics: [topic], fromBeginning: true })
  await reader.consumer.run({ eachMessage: async ({ message }) => reader.seen.push(message) })
  assert.deepEqual(values(await reader.take(1)), ['later'])
  await reader.close()
})
