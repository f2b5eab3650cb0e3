'use strict'

const assert = require('node:assert/strict')
const { check, unique, until } = require('./checks')
const { Reader, admin, alone, everything, numbers, timed, values } = require('./cluster')

async function committed(groupId, topic) {
  const [{ partitions }] = await admin.fetchOffsets({ groupId, topics: [topic] })
  return partitions[0]
}

check('offsets: committed by hand, and who comes next goes on there', async () => {
  const topic = await timed()
  const group = unique('group')
  const first = await Reader.open(topic, { group, run: { autoCommit: false } })
  await first.take(10)
  await first.consumer.commitOffsets([{ topic, partition: 0, offset: '4', metadata: 'what for' }])
  await first.close()
  assert.deepEqual(await committed(group, topic), { partition: 0, offset: '4', metadata: 'what for' })
  assert.deepEqual(values(await everything(topic, 6, { group })), numbers(4, 10))
})

check('offsets: committed by themselves', async () => {
  const topic = await timed()
  const reader = await Reader.open(topic, { run: { autoCommitInterval: 100 } })
  await until('all are committed', async () => (await committed(reader.group, topic)).offset === '10')
  await reader.close()
})

check('offsets: committed after so many messages', async () => {
  const topic = await timed()
  const reader = await Reader.open(topic, { run: { autoCommitThreshold: 5 } })
  await until('some are committed', async () => Number((await committed(reader.group, topic)).offset) >= 5)
  await reader.close()
})

check('offsets: not committed, and all comes again', async () => {
  const topic = await timed()
  const group = unique('group')
  for (const _ of [1, 2]) assert.deepEqual(values(await everything(topic, 10, { group, run: { autoCommit: false } })), numbers(0, 10))
  assert.equal((await committed(group, topic)).offset, '-1')
})

check('offsets: set by an admin', async () => {
  const topic = await timed()
  const groupId = unique('group')
  await alone((one) => one.setOffsets({ groupId, topic, partitions: [{ partition: 0, offset: '8' }] }))
  assert.equal((await committed(groupId, topic)).offset, '8')
  assert.deepEqual(values(await everything(topic, 2, { group: groupId })), numbers(8, 10))
})

check('offsets: reset by an admin', async () => {
  const topic = await timed()
  const groupId = unique('group')
  const [{ partitions }] = await alone(async (one) => {
    await one.resetOffsets({ groupId, topic, earliest: true })
    return one.fetchOffsets({ groupId, topics: [topic], resolveOffsets: true })
  })
  assert.equal(partitions[0].offset, '0')
})

check('offsets: not set while the group works', async () => {
  const topic = await timed()
  const reader = await Reader.open(topic)
  await reader.take(10)
  const set = (one) => one.setOffsets({ groupId: reader.group, topic, partitions: [{ partition: 0, offset: '2' }] })
  await assert.rejects(alone(set), /no running instances/)
  await reader.close()
})

check('offsets: of all of a group\'s topics', async () => {
  const [one, other] = [await timed(), await timed()]
  const reader = await Reader.open([one, other])
  await reader.take(20)
  await reader.close()
  const all = await admin.fetchOffsets({ groupId: reader.group })
  assert.deepEqual(all.map(({ topic }) => topic).sort(), [one, other].sort())
})
