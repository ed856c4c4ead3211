import { once } from 'node:events'
import { expect, test } from 'vitest'
import { IdleAgents } from '../../../src/source/connection/idle-agents.ts'
import { type FaultServer, faultServer, list } from '../../support/fault-server.ts'
import { aSource, PATIENT } from '../a-source.ts'

const FIRST = { page: 1, size: 100 }

test('a source that is opened after another was closed goes on with its connections', async () => {
  await using server = await faultServer(list(250))
  const agents = new IdleAgents()

  await readTwice(server, agents)
  await readTwice(server, agents)

  expect(socketsOf(server)).toBe(1)
})

test('a source without shared agents, or with other limits, opens its own connections', async () => {
  await using server = await faultServer(list(250))
  const agents = new IdleAgents()

  await readTwice(server, agents)
  await readTwice(server)
  await readTwice(server, agents, { requestTimeoutMs: 50_000 })
  await readTwice(server, agents, { concurrency: 2 })

  expect(socketsOf(server)).toBe(4)
})

test('sources that are open at the same time have no connection together', async () => {
  await using server = await faultServer(list(250))
  const agents = new IdleAgents()
  const open = [aSource(server, {}, { agents }), aSource(server, {}, { agents })]

  for (const { source } of open) await source.readPage(FIRST, PATIENT)
  for (const { source } of open) await source.close()
  expect(socketsOf(server)).toBe(2)

  const [request] = server.requests
  const ended = once(request?.socket ?? process, 'close')
  await agents.close()
  await ended
})

async function readTwice(server: FaultServer, agents?: IdleAgents, changes: Parameters<typeof aSource>[1] = {}) {
  const { source } = aSource(server, changes, { agents })
  for (const page of [1, 2]) await source.readPage({ page, size: 100 }, PATIENT)
  // Closing twice gives back nothing twice.
  for (let time = 0; time < 2; time += 1) await source.close()
}

function socketsOf({ requests }: FaultServer): number {
  return new Set(requests.map(({ socket }) => socket)).size
}
