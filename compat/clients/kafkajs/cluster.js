'use strict'
// One admin for all checks, and what many of them do.

const { CompressionCodecs, CompressionTypes, Kafka, Partitioners, logLevel } = require('kafkajs')
const lz4 = require('lz4-napi')
const snappy = require('kafkajs-snappy')
const { ZstdCodec } = require('zstd-codec')
const { bootstrap, unique, until } = require('./checks')

CompressionCodecs[CompressionTypes.Snappy] = snappy
CompressionCodecs[CompressionTypes.LZ4] = () => ({
  compress: async (encoder) => lz4.compressFrame(encoder.buffer),
  decompress: async (buffer) => lz4.decompressFrame(buffer),
})
const zstd = new Promise((resolve) => ZstdCodec.run((loaded) => resolve(new loaded.Streaming())))
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: async (encoder) => Buffer.from((await zstd).compress(encoder.buffer)),
  decompress: async (buffer) => Buffer.from((await zstd).decompress(buffer)),
})

const kafka = (config = {}) =>
  new Kafka({
    brokers: [bootstrap],
    clientId: 'kafkajs-compat',
    logLevel: logLevel.NOTHING,
    retry: { retries: 6, initialRetryTime: 50, maxRetryTime: 1000 },
    ...config,
  })

const admin = kafka().admin()

/** An admin for one call: those that ask leaders trip over each other where they share one. */
async function alone(call) {
  const one = kafka().admin()
  await one.connect()
  try {
    return await call(one)
  } finally {
    await one.disconnect()
  }
}

/** A topic with a name of its own. */
async function newTopic(numPartitions = 1, configs = {}) {
  const topic = unique('kafkajs')
  const configEntries = Object.entries(configs).map(([name, value]) => ({ name, value }))
  await admin.createTopics({ waitForLeaders: false, topics: [{ topic, numPartitions, configEntries }] })
  // A controller answers before its brokers have heard.
  await until(`the broker knows ${topic}`, () => partitionsOf(topic).then((found) => found.length === numPartitions))
  return topic
}

/** A topic's partitions; none where it is unknown. */
async function partitionsOf(topic) {
  try {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
    return topics[0].partitions
  } catch (error) {
    if (error.type === 'UNKNOWN_TOPIC_OR_PARTITION') return []
    throw error
  }
}

/** Sends values, or whole messages, to a partition; `config` is the producer's, `how` goes with what is sent. */
async function send(topic, messages, { config = {}, partition = 0, ...how } = {}) {
  const producer = kafka().producer({ createPartitioner: Partitioners.DefaultPartitioner, ...config })
  await producer.connect()
  try {
    const placed = messages.map((each) => ({ partition, ...(typeof each === 'string' ? { value: each } : each) }))
    return await producer.send({ topic, messages: placed, ...how })
  } finally {
    await producer.disconnect()
  }
}

/** A consumer that keeps what it has seen. */
class Reader {
  static async open(topics, { group = unique('group'), fromBeginning = true, run = {}, client = {}, ...config } = {}) {
    const reader = new Reader()
    reader.seen = []
    reader.joins = []
    reader.group = group
    reader.consumer = kafka(client).consumer({
      groupId: group,
      heartbeatInterval: 100,
      sessionTimeout: 6000,
      rebalanceTimeout: 6000,
      maxWaitTimeInMs: 200,
      metadataMaxAge: 500,
      ...config,
    })
    reader.consumer.on(reader.consumer.events.GROUP_JOIN, ({ payload }) => reader.joins.push(payload))
    reader.consumer.on(reader.consumer.events.CRASH, ({ payload }) => (reader.error = payload.restart ? undefined : payload.error))
    await reader.consumer.connect()
    await reader.consumer.subscribe({ topics: [].concat(topics), fromBeginning })
    const eachMessage = async ({ partition, message }) => reader.seen.push({ partition, ...message })
    await reader.consumer.run(run.eachBatch ? run : { eachMessage, ...run })
    return reader
  }

  /** Waits for as many messages, and takes them out. */
  async take(count) {
    await until(`message ${count}`, () => {
      if (this.error) throw this.error
      return this.seen.length >= count
    })
    return this.seen.splice(0)
  }

  /** Its partitions of its last join, sorted. */
  async share(topic, size) {
    await until(`a share of ${size}`, () => this.joins.at(-1)?.memberAssignment[topic]?.length === size)
    return [...this.joins.at(-1).memberAssignment[topic]].sort()
  }

  close() {
    return this.consumer.disconnect()
  }
}

/** All that a topic holds, `count` messages or more. */
async function everything(topic, count, options) {
  const reader = await Reader.open(topic, options)
  try {
    return await reader.take(count)
  } finally {
    await reader.close()
  }
}

const values = (messages) => messages.map((each) => each.value?.toString() ?? null)
const numbers = (from, to) => Array.from({ length: to - from }, (_, at) => String(from + at))

/** Ten records, one a second from second 100 on, in one batch. */
async function timed() {
  const topic = await newTopic()
  await send(topic, numbers(0, 10).map((value, at) => ({ value, timestamp: String(1000 * (100 + at)) })))
  return topic
}

module.exports = { Reader, admin, alone, everything, kafka, newTopic, numbers, partitionsOf, send, timed, values }
