'use strict'

const assert = require('node:assert/strict')
const { CompressionTypes, Partitioners } = require('kafkajs')
const { check, refused, unique } = require('./checks')
const { admin, alone, everything, kafka, newTopic, numbers, send, values } = require('./cluster')

check('produce: keys, values, headers and times come back as they went in', async () => {
  const topic = await newTopic()
  const sent = [
    { key: 'k', value: 'v', timestamp: '1700000000123' },
    { key: null, value: Buffer.alloc(0), headers: { one: ['1', Buffer.from([0, 255])], other: '' } },
    { key: 'gone', value: null },
    { key: 'Ünicode ✓', value: Buffer.from([0, 1, 2, 255]) },
  ]
  await send(topic, sent)
  const found = await everything(topic, 4)
  const bytes = (value) => (value == null ? null : Buffer.from(value))
  found.forEach((each, offset) => {
    assert.equal(each.offset, String(offset))
    assert.deepEqual([each.key, each.value], [bytes(sent[offset].key), bytes(sent[offset].value)])
  })
  assert.equal(found[0].timestamp, '1700000000123')
  assert.deepEqual(found[1].headers, { one: [Buffer.from('1'), Buffer.from([0, 255])], other: Buffer.alloc(0) })
})

for (const [name, how] of Object.entries({
  'of all in sync, idempotent': { acks: -1, config: { idempotent: true } },
  'of all in sync': { acks: -1 },
  'of the leader': { acks: 1 },
  'of nobody': { acks: 0 },
})) {
  check(`produce: with acknowledgement ${name}`, async () => {
    const topic = await newTopic()
    await send(topic, numbers(0, 100), how)
    assert.deepEqual(values(await everything(topic, 100)), numbers(0, 100))
  })
}

check('produce: answers tell offsets', async () => {
  const topic = await newTopic()
  for (const wanted of ['0', '2', '4']) assert.equal((await send(topic, ['a', 'b']))[0].baseOffset, wanted)
})

check('produce: to several topics and partitions at once', async () => {
  const [one, other] = [await newTopic(2), await newTopic()]
  const producer = kafka().producer()
  await producer.connect()
  const answer = await producer.sendBatch({
    topicMessages: [
      { topic: one, messages: [{ partition: 0, value: 'a' }, { partition: 1, value: 'b' }] },
      { topic: other, messages: [{ value: 'c' }] },
    ],
  })
  await producer.disconnect()
  assert.equal(answer.length, 3)
  assert.deepEqual(values(await everything([one, other], 3)).sort(), ['a', 'b', 'c'])
})

check('produce: ten thousand records keep their order, with several requests on their way', async () => {
  const topic = await newTopic()
  const producer = kafka().producer({ idempotent: true, maxInFlightRequests: 1 })
  await producer.connect()
  const batches = Array.from({ length: 100 }, (_, at) => numbers(100 * at, 100 * at + 100))
  await Promise.all(batches.map((each) => producer.send({ topic, messages: each.map((value) => ({ value })) })))
  await producer.disconnect()
  const found = values(await everything(topic, 10_000)).map(Number)
  assert.equal(new Set(found).size, 10_000)
  for (let at = 0; at < 10_000; at += 100) assert.deepEqual(found.slice(at, at + 100).map((each) => each - found[at]), numbers(0, 100).map(Number))
})

check('produce: a large record, and one as large as a topic allows', async () => {
  const topic = await newTopic(1, { 'max.message.bytes': '5000000' })
  for (const size of [900_000, 4_900_000]) await send(topic, [{ value: Buffer.alloc(size, 'x') }])
  const found = await everything(topic, 2, { maxBytesPerPartition: 1000 })
  assert.deepEqual(found.map((each) => each.value.length), [900_000, 4_900_000])
})

check('produce: refused: larger than a topic allows', async () => {
  const topic = await newTopic(1, { 'max.message.bytes': '1000' })
  await refused(send(topic, [{ value: Buffer.alloc(2000) }]), 'MESSAGE_TOO_LARGE')
  await send(topic, ['fits'])
})

check('produce: refused: unknown topics', async () => {
  await refused(send(unique('unknown'), ['lost'], { config: { allowAutoTopicCreation: false } }), 'UNKNOWN_TOPIC_OR_PARTITION')
})

check('produce: refused: a record without a key for a compacted topic', async () => {
  await refused(send(await newTopic(1, { 'cleanup.policy': 'compact' }), ['lost']), 'INVALID_RECORD')
})

check('produce: times are the log\'s where a topic says so', async () => {
  const topic = await newTopic(1, { 'message.timestamp.type': 'LogAppendTime' })
  const before = Date.now()
  const [{ logAppendTime }] = await send(topic, [{ value: 'a', timestamp: '1' }])
  assert.ok(Number(logAppendTime) >= before)
})

for (const [name, createPartitioner] of Object.entries(Partitioners)) {
  if (name === 'JavaCompatiblePartitioner') continue
  check(`produce: ${name}`, async () => {
    const topic = await newTopic(4)
    const producer = kafka().producer({ createPartitioner })
    await producer.connect()
    const homes = new Map()
    for (let number = 0; number < 100; number++) {
      const key = `key${number % 20}`
      const [{ partition }] = await producer.send({ topic, messages: [{ key, value: 'v' }] })
      assert.equal(homes.get(key) ?? partition, partition)
      homes.set(key, partition)
    }
    await producer.disconnect()
    const offsets = await alone((one) => one.fetchTopicOffsets(topic))
    assert.equal(offsets.reduce((sum, { offset }) => sum + Number(offset), 0), 100)
  })
}

const CONFIGS = { None: 'uncompressed', GZIP: 'gzip', Snappy: 'snappy', LZ4: 'lz4', ZSTD: 'zstd' }
const LONG = numbers(0, 500).map((each) => `record ${each} of the same words, of the same words`)

for (const [name, config] of Object.entries(CONFIGS)) {
  const called = config === 'uncompressed' ? 'none' : config
  check(`codecs: ${called}`, async () => {
    const topic = await newTopic()
    await send(topic, LONG, { compression: CompressionTypes[name] })
    assert.deepEqual(values(await everything(topic, 500)), LONG)
  })
  check(`codecs: ${called} by the topic's config, whatever is sent`, async () => {
    const topic = await newTopic(1, { 'compression.type': config })
    await send(topic, LONG, { compression: CompressionTypes.Snappy })
    assert.deepEqual(values(await everything(topic, 500)), LONG)
  })
}
