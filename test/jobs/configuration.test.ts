import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { configurationHash, openLiveConfig } from '../../jobs/configuration.ts'
import { eventually } from '../support/eventually.ts'
import { isEmbedded, aJobsWorkplace, someQueues } from '../support/jobs-workplace.ts'
import { readiness, startWorker } from '../support/worker-log.ts'
import { anAwayOrganization, aWorkplace, aSandbox, organizationsOf } from '../support/workplace.ts'

test('a changed file is read again, however an editor writes it, unless it has mistakes or names another mirror', async () => {
  const { folder, config, live, warned, written, knows } = await aFollowed()
  writeFileSync(config, written('globex'))
  await knows('globex')
  writeFileSync(`${config}~`, written('initech'))
  renameSync(`${config}~`, config)
  await knows('initech')
  writeFileSync(config, 'organizations: [')
  await knows('bad')
  writeFileSync(config, written('acme'))
  await knows('acme')
  writeFileSync(config, written('hooli').replace('customers.db', 'elsewhere.db'))
  await knows('bad')
  expect(live.current.organizations.map(({ id }) => id)).toEqual(['acme'])
  writeFileSync(config, written('hooli'))
  await knows('hooli')
  expect(warned).toContain('configuration cannot be used, the one before stays')

  // As Kubernetes mounts a folder in the place of another.
  rmSync(config)
  symlinkSync(join('..data', 'customer-mirror.yaml'), config)
  for (const organization of ['globex', 'initech']) {
    const mounted = `..${organization}`
    mkdirSync(join(folder, mounted))
    writeFileSync(join(folder, mounted, 'customer-mirror.yaml'), written(organization))
    symlinkSync(mounted, join(folder, '..data_tmp'))
    renameSync(join(folder, '..data_tmp'), join(folder, '..data'))
    await knows(organization)
  }
})

test('two files have the same hash where they differ only in a secret or in the address of the queue', () => {
  const acme = { id: 'acme', apiKey: 'made-up-key', secret: { env: 'ACME_SECRET' }, baseUrl: 'https://a.example.com' }
  const file = { mirror: './customers.db', queue: 'redis://:password@one', organizations: [acme] }
  const hash = configurationHash(file)

  expect(hash).toMatch(/^[0-9a-f]{64}$/)
  expect(configurationHash({ mirror: './customers.db', organizations: [{ ...acme, apiKey: 'other' }] })).toBe(hash)
  const different = [
    { ...file, mirror: './other.db' },
    { ...file, organizations: [] },
    { ...file, organizations: [{ ...acme, secret: { env: 'OTHER_SECRET' } }] },
    { ...file, organizations: [acme, { ...acme, id: 'globex' }] },
  ]
  expect(new Set([file, ...different].map(configurationHash)).size).toBe(different.length + 1)
})

/** The configuration of acme, followed; and texts for that of another organization. */
async function aFollowed() {
  const { folder, config } = aWorkplace([anAwayOrganization()])
  const text = readFileSync(config, 'utf8')
  const warned: string[] = []
  const log = { info: () => {}, warn: (_facts: object, said: string) => void warned.push(said) }
  const live = await openLiveConfig({ file: config, cwd: folder, log: Object(log), now: Date.now })
  const followed = live.follow(20, () => {})
  onTestFinished(() => followed.stop())
  const state = () => (live.brokenSinceMs === undefined ? live.current.organizations.map(({ id }) => id).join() : 'bad')
  return {
    ...{ folder, config, live, warned, written: (id: string) => text.replaceAll('acme', id) },
    knows: (what: string) => eventually(state, (now) => now === what),
  }
}

// Other processes cannot add to the embedded queue, and it has one worker.
test.skipIf(isEmbedded)('two workers with different files mirror what each has, and say so in /readyz', async () => {
  const organizations = organizationsOf(await aSandbox({ customers: [3, 3] }))
  const place = aJobsWorkplace(organizations)
  const document: object = parse(readFileSync(place.config, 'utf8'))
  const write = (count: number) =>
    writeFileSync(place.config, stringify({ ...document, organizations: organizations.slice(0, count) }))
  const other = join(place.folder, 'other.yaml')
  write(1)
  writeFileSync(other, readFileSync(place.config))
  write(2)
  const timings = { configShareMs: 20, configLookMs: 20 }
  const workers = [startWorker(place, { timings }), startWorker({ config: other }, { timings })]
  for (const id of ['acme', 'globex']) await Promise.any(workers.map((worker) => worker.ran(id)))
  const problems = async () => (await Promise.all(workers.map(readiness))).map((ready) => String(ready['problems']))

  expect(workers.flatMap(({ lines }) => lines).join()).not.toContain('run given up')
  await eventually(problems, (found) => found.every((said) => said.includes('give all workers the same file')))
  write(1)
  await eventually(problems, (found) => !found.join().includes('configuration'))
  await workers[1]?.stop()
  const { backend } = await someQueues(place.queue, place.mirror)
  await expect.poll(async () => (await backend.values.list('configuration:')).size).toBe(1)
})
