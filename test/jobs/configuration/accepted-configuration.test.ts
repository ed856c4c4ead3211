import { expect, test } from 'vitest'
import { ACCEPTED } from '../../../jobs/configuration/accepted-value.ts'
import { configurationHash } from '../../../jobs/configuration/configuration-hash.ts'
import { hashOf, LIMITS, someValues, startOn, type Machine } from '../../support/accepting-workers.ts'

const START_MS = 1_700_000_000_000
const OLD = aMachine(1, START_MS - 86_400_000)
const NEW = aMachine(2, START_MS)

test('a worker that is started with an older file is accepted once no worker runs on the newer one', async () => {
  const { values, start, pass } = aTime()
  await start(NEW).accepted.look()
  const rolledBack = start(OLD)
  await rolledBack.accepted.look()
  const atFirst = [rolledBack.accepted.mayWrite, rolledBack.accepted.standing.otherSinceMs]
  await pass(LIMITS.abandonedMs, [rolledBack])

  expect(atFirst).toEqual([false, START_MS])
  expect(rolledBack.accepted.mayWrite).toBe(true)
  expect(rolledBack.accepted.standing.otherSinceMs).toBeUndefined()
  expect(values.accepted()).toBe(hashOf(1))
})

test('a newer file is accepted again, although a worker with an older one took its place meanwhile', async () => {
  const { values, start, pass } = aTime()
  await start(NEW).accepted.look()
  const older = start(OLD)
  await pass(2 * LIMITS.abandonedMs, [older])
  const [meanwhile, again] = [values.accepted(), start(NEW)]
  await pass(2 * LIMITS.abandonedMs, [older, again])

  expect(meanwhile).toBe(hashOf(1))
  expect([older.accepted.mayWrite, again.accepted.mayWrite]).toEqual([false, true])
})

test('of two files that were modified in the same millisecond, the one that is accepted first stays', async () => {
  const { start, pass } = aTime()
  // File systems keep the date of a file more exactly than the queue does.
  const workers = [0.25, 0.75].map((ms, index) => start(aMachine(index, START_MS - 1000 + ms)))
  await pass(3 * LIMITS.abandonedMs, workers)

  expect(workers.map(({ accepted }) => accepted.mayWrite)).toEqual([true, false])
  expect(workers.map(({ accepted }) => accepted.standing.otherSinceMs)).toEqual([undefined, START_MS + 10_000])
})

test('while the queue cannot be reached, no configuration is abandoned', async () => {
  const { values, start, pass, wait } = aTime()
  const [newer, older] = [start(NEW), start(OLD)]
  await pass(LIMITS.renewMs, [newer, older])
  wait(100 * LIMITS.abandonedMs)
  await older.accepted.look()
  const afterwards = values.accepted()
  await pass(2 * LIMITS.abandonedMs, [older, newer])

  expect(afterwards).toBe(hashOf(2))
  expect(values.accepted()).toBe(hashOf(2))
})

test('a worker whose file has mistakes by now keeps the configuration it runs on from being abandoned', async () => {
  const { values, start, pass } = aTime()
  const machine = structuredClone(NEW)
  const [newer, older] = [start(machine), start(OLD)]
  await pass(LIMITS.renewMs, [newer, older])
  machine.file.isBroken = true
  newer.read()
  await pass(3 * LIMITS.abandonedMs, [newer, older])

  expect(values.accepted()).toBe(hashOf(2))
  expect([newer.accepted.mayWrite, newer.accepted.isMine, older.accepted.mayWrite]).toEqual([false, true, false])
})

test('a user who says so has a file accepted that was modified since', async () => {
  const { start, pass, wait } = aTime()
  const machine = structuredClone(OLD)
  const [newer, older] = [start(NEW), start(machine)]
  await pass(LIMITS.renewMs, [newer, older])
  older.accepted.offerAgain()
  await older.accepted.look()
  const unmodified = older.accepted.mayWrite
  wait(1000)
  machine.file.modifiedMs = START_MS + LIMITS.renewMs
  older.accepted.offerAgain()
  await pass(2 * LIMITS.abandonedMs, [older, newer])

  expect(unmodified).toBe(false)
  expect([older.accepted.mayWrite, newer.accepted.mayWrite]).toEqual([true, false])
})

test('the only worker of a queue waits for no other', async () => {
  const { values, start } = aTime()
  await start(NEW).accepted.look()
  const alone = start(OLD, { isAlone: true })
  await alone.accepted.look()

  expect(alone.accepted.mayWrite).toBe(true)
  expect(values.accepted()).toBe(hashOf(1))
})

test.each(['', '{', '"text"', '{"hash":1}', '{"hash":"ffff","changedAt":"never","acceptedAt":"never"}', '[null]'])(
  'what a worker cannot read is reported, and replaced by what it runs on: %s',
  async (text) => {
    const { values, start } = aTime()
    const warnings: unknown[] = []
    await values.write(ACCEPTED, text)
    const worker = start(OLD, { warnings })
    await worker.accepted.look()

    expect(warnings).toEqual([
      [{ value: ACCEPTED }, 'the accepted configuration in the queue cannot be read, and is ignored'],
    ])
    expect(values.accepted()).toBe(hashOf(1))
    expect(worker.accepted.mayWrite).toBe(true)
  },
)

test('what a later version of the program adds is kept', async () => {
  const { values, start, pass } = aTime()
  const worker = start(NEW)
  await worker.accepted.look()
  const [text = ''] = (await values.list('')).values()
  const acceptedAt = new Date(START_MS).toISOString()
  await values.write(ACCEPTED, JSON.stringify({ ...Object(JSON.parse(text)), later: { is: 'kept' } }))
  await pass(2 * LIMITS.renewMs, [worker])

  expect(JSON.parse(text)).toEqual({ hash: hashOf(2), changedAt: acceptedAt, acceptedAt, renewals: 0 })
  expect(JSON.parse((await values.read(ACCEPTED)) ?? '')).toMatchObject({
    ...{ hash: hashOf(2), acceptedAt, later: { is: 'kept' } },
    renewals: expect.toSatisfy((renewals: number) => renewals > 0),
  })
})

test('two files have the same hash where they differ only in the order of keys, in a secret or in the address of the queue', () => {
  const acme = { id: 'acme', apiKey: 'made-up-key', secret: { env: 'ACME_SECRET' }, baseUrl: 'https://a.example.com' }
  const file = { mirror: './customers.db', queue: 'redis://:password@one', organizations: [acme] }
  const { apiKey: _apiKey, ...others } = acme
  const reordered = { apiKey: 'other', ...others }
  const hash = configurationHash(file)

  expect(hash).toMatch(/^[0-9a-f]{64}$/)
  expect(configurationHash({ organizations: [reordered], mirror: './customers.db' })).toBe(hash)
  const different = [
    { ...file, mirror: './other.db' },
    { ...file, organizations: [] },
    { ...file, organizations: [{ ...acme, secret: { env: 'OTHER_SECRET' } }] },
    { ...file, organizations: [acme, { ...acme, id: 'globex' }] },
  ]
  expect(new Set([file, ...different].map(configurationHash)).size).toBe(different.length + 1)
})

function aMachine(content: number, modifiedMs: number): Machine {
  return { file: { content, isBroken: false, modifiedMs }, clockMs: 0, worker: undefined }
}

function aTime() {
  const values = someValues()
  let nowMs = START_MS
  return {
    values,
    start: (machine: Machine, options?: Parameters<typeof startOn>[3]) =>
      startOn(machine, values, () => nowMs, options),
    wait: (ms: number) => {
      nowMs += ms
    },
    /** Time passes in which these workers look now and then. */
    pass: async (ms: number, workers: readonly ReturnType<typeof startOn>[]) => {
      for (const endMs = nowMs + ms; nowMs < endMs;) {
        nowMs += 10_000
        for (const { accepted } of workers) await accepted.look()
      }
    },
  }
}
