import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { followConfig } from '../../../jobs/configuration/followed-config.ts'
import { openLiveConfig } from '../../../jobs/configuration/live-config.ts'
import { TIMINGS } from '../../../jobs/timings.ts'
import { watchConfig } from '../../../jobs/configuration/watch-config.ts'
import { someValues } from '../../support/accepting-workers.ts'
import { eventually } from '../../support/eventually.ts'
import { aWorkplace, organizationAt } from '../../support/workplace.ts'

const AT = { baseUrl: new URL('http://127.0.0.1:1/api/v1') }

/** Looking at the file is enough where no file system reports a change; and a report is enough. */
test.each([
  ['reported', { configLookMs: 3_600_000 }],
  ['looked for', { configLookMs: 20 }],
])('a changed file is read again, however an editor writes it (%s)', async (_how, timings) => {
  const { config, written, knows } = await aWatched(timings)
  writeFileSync(config, written('globex'))
  await knows('globex')
  writeFileSync(`${config}~`, written('initech'))
  renameSync(`${config}~`, config)
  await knows('initech')
  writeFileSync(config, 'organizations: [')
  await knows('mistakes')
  writeFileSync(config, written('acme'))
  await knows('acme')
})

test('a file is followed into the folder that Kubernetes mounts in the place of another', async () => {
  const { folder, config, written, knows } = await aWatched(
    { configLookMs: 3_600_000 },
    {
      prepare: (file) => {
        const mounted = dirname(file)
        const text = readFileSync(file, 'utf8')
        rmSync(file)
        mkdirSync(join(mounted, '..first'))
        writeFileSync(join(mounted, '..first', 'customer-mirror.yaml'), text)
        symlinkSync('..first', join(mounted, '..data'))
        symlinkSync(join('..data', 'customer-mirror.yaml'), file)
      },
    },
  )
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
  expect(config).toContain(folder)
})

test('a folder that vanishes and comes back is watched again, and the configuration stays meanwhile', async () => {
  const { folder, config, written, knows, live } = await aWatched({ configLookMs: 20 })
  rmSync(folder, { recursive: true })
  await knows('mistakes')
  const meanwhile = live.current.organizations.map(({ id }) => id)
  mkdirSync(folder)
  writeFileSync(config, written('globex'))
  await knows('globex')

  expect(meanwhile).toEqual(['acme'])
})

test('a link that leads elsewhere is followed', async () => {
  const { folder, written, knows } = await aWatched(
    { configLookMs: 20 },
    {
      prepare: (file) => {
        const elsewhere = join(dirname(file), 'releases')
        mkdirSync(join(elsewhere, 'one'), { recursive: true })
        renameSync(file, join(elsewhere, 'one', 'customer-mirror.yaml'))
        symlinkSync('one', join(elsewhere, 'current'))
        symlinkSync(join(elsewhere, 'current', 'customer-mirror.yaml'), file)
      },
    },
  )
  const elsewhere = join(folder, 'releases')
  mkdirSync(join(elsewhere, 'two'))
  writeFileSync(join(elsewhere, 'two', 'customer-mirror.yaml'), written('globex'))
  symlinkSync('two', join(elsewhere, 'next'))
  renameSync(join(elsewhere, 'next'), join(elsewhere, 'current'))
  await knows('globex')
})

test('jobs that miss their organizations have the file read once, and again when it has changed', async () => {
  const { folder, config, live, followed, written } = await aFollowed()
  const reload = vi.spyOn(live, 'reload')
  for (const text of [written('acme'), written('globex'), 'organizations: [']) {
    reload.mockClear()
    // Another file in the place of the one before, as a write in the same moment could look like none.
    writeFileSync(join(folder, 'next'), text)
    renameSync(join(folder, 'next'), config)
    for (let job = 1; job <= 3; job += 1) await followed.mayComeLater()
    expect(reload).toHaveBeenCalledOnce()
  }
})

test('the schedules are compared again when the queue has forgotten everything', async () => {
  const { followed, values } = await aFollowed()
  const compare = vi.fn<() => void>()
  followed.onNews(compare)
  for (const looks of [1, 2, 3]) {
    values.forget()
    // Two moments at which it is accepted differ by a millisecond at least.
    const lastMs = Date.now()
    await eventually(Date.now, (nowMs) => nowMs > lastMs)
    await followed.look()
    await followed.look()
    expect(compare).toHaveBeenCalledTimes(looks)
  }
})

/** The configuration of acme, watched; and texts for that of another organization. */
async function aWatched(
  timings: { configLookMs: number },
  { prepare = () => {} }: { prepare?: (file: string) => void } = {},
) {
  const { live, followed, folder, config, written } = await aFollowed(prepare)
  const watch = watchConfig(followed, {
    reconcile: () => followed.look(),
    timings: { ...timings, acceptedLookMs: 3_600_000 },
  })
  onTestFinished(() => watch.stop())
  const state = () =>
    live.brokenSinceMs === undefined ? live.current.organizations.map(({ id }) => id).join() : 'mistakes'
  return {
    ...{ folder, config, live, written },
    knows: (what: string) => eventually(state, (now) => now === what),
  }
}

async function aFollowed(prepare: (file: string) => void = () => {}) {
  const { folder, config } = aWorkplace([organizationAt(AT)])
  const text = readFileSync(config, 'utf8')
  prepare(config)
  const live = await openLiveConfig({ file: config, cwd: folder }, Date.now)
  const log = { info: () => {}, warn: () => {} }
  const values = someValues()
  const parts = { values, isAlone: true, timings: TIMINGS, now: Date.now, monotonicMs: Date.now, log }
  const followed = followConfig(live, parts)
  return { folder, config, live, followed, values, written: (id: string) => text.replaceAll('acme', id) }
}
