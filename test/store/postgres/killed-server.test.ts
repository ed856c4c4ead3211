import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { expect, inject, onTestFinished, test } from 'vitest'
import { postgresPrograms, type PostgresServer } from '../../../bench/postgres-server.ts'
import { openMirror } from '../../../src/store/mirror.ts'
import { awaitMirror } from '../../../src/sync/await-mirror.ts'
import { mirrorOrganization } from '../../../src/sync/mirror-organization.ts'
import { START_MS } from '../../support/builders.ts'
import { type Dice, dice as diceOf } from '../../support/dice.ts'
import { changingList, listedSource, mirroring } from '../../support/listed-source.ts'
import { expectHolds, expectSound, valueOf } from '../../support/mirror-file.ts'
import { withPlayedLeases } from '../../support/postgres/played-leases.ts'
import { startTestServer } from '../../support/postgres/server.ts'
import { seeds } from '../../support/seeds.ts'

test.skipIf(postgresPrograms() === undefined)(
  'a server that is killed again and again while it commits loses nothing and doubles nothing',
  async () => {
    const most = seeds(16)
    const isEnough = ({ kills, continued, resumed }: Played) => kills >= most && continued > 0 && resumed > 0
    await (inject('isDeep') ? playKills(11, isEnough) : playKills(1, ({ kills }) => kills >= 4))
  },
)

const MINUTE_MS = 60_000

/** How often the server was killed, and what became of the runs. */
type Played = { kills: number; continued: number; resumed: number }

/**
 * Mirrors new editions of a list while the server is killed at commits and started again: before it gets the commit, while it commits, or
 * after. Some runs wait for it and go on; others fail, and the next one continues what was saved. After each, the mirror must hold exactly
 * the list.
 */
async function playKills(seed: number, isEnough: (played: Played) => boolean): Promise<void> {
  const server = await startTestServer({ isDurable: true })
  onTestFinished(() => server.close())
  const way = await watchCommits(server.url)
  onTestFinished(() => way.close())
  const dice = diceOf(seed)
  const address = `${server.url}?schema=killed`
  const mirror = withPlayedLeases(await openMirror(`${way.url}?schema=killed`), address)
  onTestFinished(() => mirror.close())
  const played: Played = { kills: 0, continued: 0, resumed: 0 }
  let nowMs = START_MS

  for (let edition = 1; !isEnough(played); edition += 1) {
    const list = changingList(edition)
    const isPatient = dice.chance(0.5)
    const killed = killAtCommit(way, server, dice)
    const night = async (longestWaitMs: number) => {
      nowMs += 2 * MINUTE_MS
      const patience = { longestWaitMs, monotonicMs: () => performance.now(), random: () => 0 }
      const { signal } = new AbortController()
      const patient = awaitMirror(mirror, { ...patience, signal, sleep: aMoment })
      const source = listedSource(list)
      // A clock that moves at every reading has every page saved alone.
      const clocks = { now: () => (nowMs += 100), monotonicMs: () => nowMs }
      return mirrorOrganization(mirroring(patient, source, { scan: 'chain', pageSize: 50, signal, ...clocks }))
    }
    const first = await night(isPatient ? 10 * MINUTE_MS : 0)
    const wasKilled = await killed()
    if (wasKilled) played.kills += 1
    if (isPatient) expect(first.error).toBeUndefined()
    if (wasKilled && first.error === undefined) played.continued += 1
    if (first.error !== undefined) {
      expect(first.error).toMatchObject({ code: 'gone' })
      expectSound(address)
      // The end of the run may have been committed, and the answer lost.
      const hasEnded = valueOf(address, 'SELECT status FROM runs WHERE id = ?', first.report.runId) === 'complete'
      const second = await night(0)
      expect(second.error).toBeUndefined()
      if (first.report.received > 0 && !hasEnded) {
        expect(second.report.resumedFrom).toBe(first.report.runId)
        played.resumed += 1
      }
    }
    expectSound(address)
    expectHolds(address, list)
  }
}

/** Has the server killed at one of the next commits and started again. The result waits for that, and says whether it came to it. */
function killAtCommit(way: CommitWatch, server: PostgresServer, dice: Dice): () => Promise<boolean> {
  const moment = dice.pick(['before', 'while', 'after'] as const)
  const afterMs = dice.next() * 3
  let left = 1 + dice.below(8)
  let restarted: Promise<void> | undefined
  way.onCommit = (pass) => {
    left -= 1
    if (left !== 0) return pass()
    if (moment !== 'before') pass()
    restarted = (async () => {
      if (moment === 'after') await aMoment(afterMs)
      await server.kill()
      await server.start()
    })()
  }
  return async () => {
    way.onCommit = (pass) => pass()
    await restarted
    return restarted !== undefined
  }
}

function aMoment(waitMs: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, Math.min(waitMs, 20))
  })
}

/** A way to a server on which commits are seen before they get there. */
type CommitWatch = {
  /** The address of the database by this way. */
  url: string
  /** What happens at the next commits: it may keep them from the server. */
  onCommit: (pass: () => void) => void
  close(): Promise<void>
}

const COMMIT = Buffer.from('COMMIT\0')

/** Opens a port of this machine that leads to the server of `url`. */
async function watchCommits(url: string): Promise<CommitWatch> {
  const { hostname, port } = new URL(url)
  const open = new Set<Socket>()
  const server = createServer((client) => {
    const toServer = connect(Number(port), hostname)
    for (const socket of [client, toServer]) {
      open.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => {})
      socket.on('close', () => {
        open.delete(socket)
        client.destroy()
        toServer.destroy()
      })
    }
    toServer.pipe(client)
    client.on('data', (bytes: Buffer) => {
      const pass = () => void toServer.write(bytes)
      if (bytes.includes(COMMIT)) watch.onCommit(pass)
      else pass()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const own = new URL(url)
  own.port = String(typeof address === 'object' && address !== null ? address.port : 0)
  const watch: CommitWatch = {
    url: own.href,
    onCommit: (pass) => pass(),
    close: async () => {
      for (const socket of open) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
  return watch
}
