'use strict'
// What kafkajs does.

const { main, until } = require('./checks')
const { admin } = require('./cluster')

// What waits longest comes first: the others go on beside it.
for (const subject of ['offsets', 'consume', 'groups', 'admin', 'produce', 'transactions']) require(`./${subject}`)

async function ready() {
  await admin.connect()
  // The first group makes a broker create the topic of all groups' offsets, which takes a while.
  const described = () => admin.describeGroups(['first']).then(({ groups }) => groups[0].errorCode === 0, () => false)
  await until('there is a coordinator', described)
}

ready().then(main)
