import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { configurationHash, openLiveConfig, compareConfigurations } from '../../../jobs/configuration.ts'
import { eventually } from '../../support/eventually.ts'
import { aWorkplace, organizationAt } from '../../support/workplace.ts'

const SILENT = { info: () => {}, warn: () => {} }
const AT = { baseUrl: new URL('http://127.0.0.1:1/api/v1') }

test('a changed file is read again, however an editor writes it', async () => {
  const { config, warned, written, knows } = await aFollowed()
  writeFileSync(config, written('globex'))
  await knows('globex')
  writeFileSync(`${config}~`, written('initech'))
  renameSync(`${config}~`, config)
  await knows('initech')
  writeFileSync(config, 'organizations: [')
  await knows('mistakes')
  writeFileSync(config, written('acme'))
  await knows('acme')

  expect(warned).toContain('configuration has mistakes, the one before stays')
})

test('a file is followed into the folder that Kubernetes mounts in the place of another', async () => {
  const { folder, written, knows } = await aFollowed({
    prepare: (file) => {
      const mounted = dirname(file)
      const text = readFileSync(file, 'utf8')
      rmSync(file)
      mkdirSync(join(mounted, '..first'))
      writeFileSync(join(mounted, '..first', 'customer-mirror.yaml'), text)
      symlinkSync('..first', join(mounted, '..data'))
      symlinkSync(join('..data', 'customer-mirror.yaml'), file)
    },
  })
  for (const [folderName, organization] of [
    ['..second', 'globex'],
    ['..third', 'initech'],
  ] as const) {
    mkdirSync(join(folder, folderName))
    writeFileSync(join(folder, folderName, 'customer-mirror.yaml'), written(organization))
    symlinkSync(folderName, join(folder, '..data_tmp'))
    renameSync(join(folder, '..data_tmp'), join(folder, '..data'))
    await knows(organization)
  }
})

test('a folder that vanishes and comes back is followed, and the configuration stays meanwhile', async () => {
  const { folder, config, written, knows, live } = await aFollowed()
  rmSync(folder, { recursive: true })
  await knows('mistakes')
  const meanwhile = live.current.organizations.map(({ id }) => id)
  mkdirSync(folder)
  writeFileSync(config, written('globex'))
  await knows('globex')

  expect(meanwhile).toEqual(['acme'])
})

test.each([
  ['of the configuration', false, ['mirror', 'queue']],
  ['of the command line', true, ['mirror']],
])('a changed mirror and queue wait for a restart, in a worker with the queue %s', async (_, embedded, awaited) => {
  const { folder, config } = aWorkplace([organizationAt(AT)], { queue: 'redis://127.0.0.1:6379' })
  const before = readFileSync(config, 'utf8')
  const live = await openLiveConfig({ file: config, cwd: folder, embedded, log: SILENT, now: Date.now })
  writeFileSync(config, before.replace('customers.db', 'elsewhere.db').replace('6379', '6380'))
  await live.readNow()

  expect(live.awaitingRestart).toEqual(awaited)
  writeFileSync(config, before)
  await live.readNow()
  expect(live.awaitingRestart).toEqual([])
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

/** The configuration of acme, followed; and texts for that of another organization. */
async function aFollowed({
  lookMs = 20,
  prepare = () => {},
}: { lookMs?: number; prepare?: (file: string) => void } = {}) {
  const { folder, config } = aWorkplace([organizationAt(AT)])
  const text = readFileSync(config, 'utf8')
  prepare(config)
  const warned: string[] = []
  const log = { ...SILENT, warn: (_facts: object, message: string) => void warned.push(message) }
  const live = await openLiveConfig({ file: config, cwd: folder, log: Object(log), now: Date.now })
  const followed = live.follow(lookMs, () => {})
  onTestFinished(() => followed.stop())
  const state = () =>
    live.brokenSinceMs === undefined ? live.current.organizations.map(({ id }) => id).join() : 'mistakes'
  return {
    ...{ folder, config, live, warned, written: (id: string) => text.replaceAll('acme', id) },
    knows: (what: string) => eventually(state, (now) => now === what),
  }
}

const LOOK_MS = 30_000

test('a worker that has ended is forgotten, and so is what it wrote', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const kept = new Map<string, string>()
  const values = {
    list: async () => new Map(kept),
    write: async (name: string, value: string) => void kept.set(name, value),
    delete: async (name: string) => void kept.delete(name),
  }
  const [one, other] = ['a', 'b'].map((hash) => {
    const common = { values, lookMs: LOOK_MS, log: { warn: () => {} }, now: Date.now }
    return compareConfigurations({ ...common, hash: () => hash.repeat(64), self: `${hash}#7#1` })
  })
  onTestFinished(() => one?.stop())
  await vi.advanceTimersByTimeAsync(12 * LOOK_MS)
  const meanwhile = one?.problem()
  other?.stop()
  await vi.advanceTimersByTimeAsync(4 * LOOK_MS)

  expect(meanwhile).toContain('give all workers the same file')
  expect(one?.problem()).toBeUndefined()
  expect([...kept.keys()]).toEqual(['configuration:a#7#1'])
})
