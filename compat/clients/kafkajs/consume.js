'use strict'

const assert = require('node:assert/strict')
const { check, pause, unique, until } = require('./checks')
const { Reader, admin, alone, everything, newTopic, numbers, send, timed, values } = require('./cluster')

check('consume: from the beginning, message by message', async () => {
  assert.deepEqual(values(await everything(await timed(), 10)), numbers(0, 10))
})

check('consume: from the beginning, batch by batch', async () => {
  const topic = await timed()
  const batches = []
  const reader = await Reader.open(topic, { run: { eachBatch: async ({ batch }) => batches.push(batch) } })
  await until('a batch', () => batches.length > 0)
  await reader.close()
  const [batch] = batches
  assert.deepEqual(values(batch.messages), numbers(0, 10))
  assert.deepEqual([batch.firstOffset(), batch.lastOffset(), batch.highWatermark, batch.offsetLag()], ['0', '9', '10', '0'])
})

check('consume: from the end, where a record arrives while it waits', async () => {
  const topic = await timed()
  const reader = await Reader.open(topic, { fromBeginning: false, maxWaitTimeInMs: 4000 })
  await reader.share(topic, 1)
  await pause(500)
  const began = Date.now()
  await send(topic, ['new'])
  assert.deepEqual(values(await reader.take(1)), ['new'])
  assert.ok(Date.now() - began < 2000)
  await reader.close()
})

check('consume: by a time', async () => {
  const topic = await timed()
  const at = async (time) => (await alone((one) => one.fetchTopicOffsetsByTimestamp(topic, time)))[0].offset
  assert.deepEqual([await at(104_500), await at(104_000), await at(1), await at(200_000)], ['5', '4', '0', '10'])
})

check('consume: set back within a batch, and forward', async () => {
  const topic = await timed()
  const reader = await Reader.open(topic)
  await reader.take(10)
  for (const offset of [4, 9, 0]) {
    reader.consumer.seek({ topic, partition: 0, offset: String(offset) })
    assert.deepEqual(values(await reader.take(10 - offset)), numbers(offset, 10))
  }
  await reader.close()
})

check('consume: paused and resumed', async () => {
  const topic = await timed()
  const reader = await Reader.open(topic)
  await reader.take(10)
  reader.consumer.pause([{ topic }])
  assert.deepEqual(reader.consumer.paused(), [{ topic, partitions: [0] }])
  await pause(300)
  await send(topic, ['later'])
  await pause(300)
  assert.equal(reader.seen.length, 0)
  reader.consumer.resume([{ topic }])
  assert.deepEqual(values(await reader.take(1)), ['later'])
  await reader.close()
})

check('consume: several partitions at once', async () => {
  const topic = await newTopic(3)
  for (const partition of [0, 1, 2]) await send(topic, numbers(0, 50), { partition })
  const found = await everything(topic, 150, { run: { partitionsConsumedConcurrently: 3 } })
  for (const partition of [0, 1, 2]) {
    assert.deepEqual(values(found.filter((each) => each.partition === partition)), numbers(0, 50))
  }
})

check('consume: as little as a fetch may bring', async () => {
  const topic = await newTopic()
  for (const value of numbers(0, 10)) await send(topic, [value])
  assert.deepEqual(values(await everything(topic, 10, { maxBytes: 1, maxBytesPerPartition: 1 })), numbers(0, 10))
})

check('consume: a pattern\'s topics', async () => {
  const [one, other] = [await timed(), await timed()]
  assert.equal((await everything(new RegExp(`^(${one}|${other})$`), 20)).length, 20)
})

check('consume: out of range begins anew', async () => {
  const topic = await timed()
  const group = unique('group')
  await alone((one) => one.setOffsets({ groupId: group, topic, partitions: [{ partition: 0, offset: '5000' }] }))
  assert.deepEqual(values(await everything(topic, 10, { group })), numbers(0, 10))
})
