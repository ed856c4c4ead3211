import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { followConfig } from '../../../jobs/configuration.ts'
import { openLiveConfig } from '../../../jobs/configuration.ts'
import { eventually } from '../../support/eventually.ts'
import { aWorkplace, organizationAt } from '../../support/workplace.ts'

const AT = { baseUrl: new URL('http://127.0.0.1:1/api/v1') }

test('a changed file is read again, however an editor writes it', async () => {
  const { config, written, knows } = await aFollowed()
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

/** The configuration of acme, followed; and texts for that of another organization. */
async function aFollowed({
  lookMs = 20,
  prepare = () => {},
}: { lookMs?: number; prepare?: (file: string) => void } = {}) {
  const { folder, config } = aWorkplace([organizationAt(AT)])
  const text = readFileSync(config, 'utf8')
  prepare(config)
  const live = await openLiveConfig({ file: config, cwd: folder }, Date.now)
  const logged: string[] = []
  const write = (_facts: object, message: string) => void logged.push(message)
  const log = Object({ info: write, warn: write })
  const followed = followConfig(live, { lookMs, log, onRead: () => logged.push('announced') })
  onTestFinished(() => followed.stop())
  const state = () =>
    live.brokenSinceMs === undefined ? live.current.organizations.map(({ id }) => id).join() : 'mistakes'
  return {
    ...{ folder, config, live, followed, logged, written: (id: string) => text.replaceAll('acme', id) },
    knows: (what: string) => eventually(state, (now) => now === what),
  }
}
