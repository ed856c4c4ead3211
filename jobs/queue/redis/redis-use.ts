import type { Redis } from 'ioredis'
import { queueNames } from '../queue-names.ts'
import { sharedKey } from './redis-values.ts'

/** What a server says of itself. */
export type RedisFacts = {
  /** Its maxmemory-policy, where that makes it drop keys when it is full. */
  dropsKeysBy: string | undefined
}

/**
 * Asks a server for what BullMQ needs of it. Rejects where another program has our keys, where this user may not use them, run scripts, wait
 * for jobs or read INFO, and where the server is a cluster: BullMQ names several keys in one command, which must be on one of its servers. Writes
 * nothing, but to a probe that is there.
 */
export async function askForUse(client: Redis, prefix: string): Promise<RedisFacts> {
  const probed = client.set(probeKey(prefix), '1', 'PX', PROBE_STAYS_MS, 'XX')
  const [, facts] = await Promise.all([probed, askForRights(client, prefix)])
  return facts
}

/** Writes a probe, and asks for what BullMQ needs. Rejects also where the server is full, or a replica. */
export async function writeProbe(client: Redis, prefix: string): Promise<void> {
  const probed = client.set(probeKey(prefix), '1', 'PX', PROBE_STAYS_MS)
  await Promise.all([probed, askForRights(client, prefix)])
}

/** Asks everything at once, because a server may be far away. It answers in order, so the first refusal is the one that is thrown. */
async function askForRights(client: Redis, prefix: string): Promise<RedisFacts> {
  const keys = Object.values(queueNames({ prefix })).map((name) => `bull:${name}:meta`)
  const [info] = await Promise.all([
    client.info('memory'),
    client.eval('return 1', keys.length + 1, sharedKey(prefix), ...keys),
    client.hlen(sharedKey(prefix)),
    askToWait(client, prefix),
  ])
  return factsIn(info)
}

/**
 * Workers wait for jobs with this command. The probe is no sorted set, so a server that has it refuses at once and takes nothing. Where there
 * is none, the connection waits for a tenth of a second.
 */
async function askToWait(client: Redis, prefix: string): Promise<void> {
  try {
    await client.bzpopmin(probeKey(prefix), SHORTEST_WAIT_SECONDS)
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith('WRONGTYPE'))) throw error
  }
}

function factsIn(info: string): RedisFacts {
  const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1]
  return { dropsKeysBy: policy === 'noeviction' ? undefined : policy }
}

/** BullMQ's keys begin with bull, so a user restricted to those may write this key too. */
function probeKey(prefix: string): string {
  return `bull:${prefix}-probe`
}

const PROBE_STAYS_MS = 60_000
const SHORTEST_WAIT_SECONDS = 0.001
