'use strict'

const assert = require('node:assert/strict')
const { check, unique, until } = require('./checks')
const { admin, everything, kafka, newTopic, values } = require('./cluster')

async function transactional(transactionalId = unique('id')) {
  const producer = kafka({ retry: { retries: 5, initialRetryTime: 50 } }).producer({
    transactionalId,
    idempotent: true,
    maxInFlightRequests: 1,
  })
  await producer.connect()
  return producer
}

async function write(producer, topic, value, end) {
  const transaction = await producer.transaction()
  await transaction.send({ topic, messages: [{ value }] })
  await transaction[end]()
}

check('transactions: committed and aborted', async () => {
  const topic = await newTopic()
  const producer = await transactional()
  await write(producer, topic, 'one', 'commit')
  await write(producer, topic, 'none', 'abort')
  await write(producer, topic, 'two', 'commit')
  await producer.disconnect()
  assert.deepEqual(values(await everything(topic, 2)), ['one', 'two'])
  assert.deepEqual(values(await everything(topic, 3, { readUncommitted: true })), ['one', 'none', 'two'])
})

check('transactions: offsets are committed with what was made of the records', async () => {
  const [topic, out] = [await newTopic(), await newTopic()]
  const groupId = unique('group')
  const producer = await transactional()
  const transaction = await producer.transaction()
  await transaction.send({ topic: out, messages: [{ value: 'made' }] })
  await transaction.sendOffsets({ consumerGroupId: groupId, topics: [{ topic, partitions: [{ partition: 0, offset: '10' }] }] })
  await transaction.commit()
  await producer.disconnect()
  await until('the offset is committed', async () => {
    const [{ partitions }] = await admin.fetchOffsets({ groupId, topics: [topic] })
    return partitions[0].offset === '10'
  })
})
