'use strict'
// Checks that say TAP.

const PATIENCE_MS = 20_000
const LIMIT_MS = 60_000
// Groups wait for their members more than they work, so that several checks go at once.
const AT_ONCE = 6

const all = []
let names = 0

/** `feature: what`, and a function that throws where it is not so. */
function check(name, run) {
  all.push({ name, run })
}

const bootstrap = process.argv[2]
const unique = (word) => `${word}-${process.pid}-${++names}`
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** The first true value. */
async function until(what, condition) {
  for (const deadline = Date.now() + PATIENCE_MS; ; await pause(20)) {
    const value = await condition()
    if (value) return value
    if (Date.now() > deadline) throw new Error(`waited for ${what}`)
  }
}

/** Waits for an error of Kafka's type, such as TOPIC_ALREADY_EXISTS, wherever kafkajs put it. */
async function refused(promise, type) {
  const error = await promise.then(
    () => new Error(`it was not refused with ${type}`),
    (reason) => reason,
  )
  const types = [error, error.cause, ...(error.errors ?? [])].map((each) => each?.type)
  if (!types.includes(type)) throw error
}

/** What did not end is left behind. */
function limited(promise) {
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it was not done after ${LIMIT_MS / 1000} s`)), LIMIT_MS)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/** Runs all checks; 1 if one failed. */
async function main() {
  console.log(`1..${all.length}`)
  let failed = 0
  const waiting = [...all]
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const began = Date.now()
      try {
        await limited(next.run())
        console.log(`ok - ${next.name}`)
      } catch (error) {
        failed = 1
        console.log(error)
        console.log(`not ok - ${next.name} # ${String(error).replace(/\s+/g, ' ').slice(0, 400)}`)
      }
      console.log(`    ${(Date.now() - began) / 1000} s: ${next.name}`)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  process.exit(failed)
}

module.exports = { bootstrap, check, main, pause, refused, unique, until }
