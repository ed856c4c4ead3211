import type { Mirror } from '../../src/model/mirror.ts'
import { beforeEach, expect, test } from 'vitest'
import { acceptCommand } from '../../src/cli/accept.ts'
import { runsCommand } from '../../src/cli/runs.ts'
import { statusCommand } from '../../src/cli/status.ts'
import { examine } from '../../jobs/monitoring/health.ts'
import { wentWell } from '../../jobs/notify/nights.ts'
import { readConfig } from '../../src/config/read-config.ts'
import { customers } from '../support/builders.ts'
import { mirrorPages } from '../support/mirror-file.ts'
import { runCommand } from '../support/run-command.ts'
import { aMirroredWorkplace, type Workplace } from '../support/workplace.ts'

const HOUR_MS = 3_600_000
const PROVEN = {
  proof: 'proven',
  reasons: [],
  removals: { rule: { after: 2, maxShare: 0.1 }, confirmed: new Set<string>() },
} as const

let workplace: Workplace
let mirror: Mirror

/** The second run of acme finds no phone where every customer had one. */
beforeEach(async () => {
  ;({ workplace, mirror } = await aMirroredWorkplace())
  const certificate = { basis: 'one-page', distinct: 100, requests: 1, pageSize: 100, holes: [], reasons: [] }
  const aRun = (hoursAgo: number, phone: string | null) =>
    mirrorPages(mirror, [customers(1, 100, { phone })], {
      atMs: Date.now() - hoursAgo * HOUR_MS,
      ending: { ...PROVEN, certificate },
    })
  await aRun(2, '1')
  await aRun(1, null)
  return () => mirror.close()
})

const accept = (...args: string[]) => runCommand(acceptCommand, ['acme', ...args, '--config', workplace.config])
const status = (...args: string[]) => runCommand(statusCommand, [...args, '--config', workplace.config])

test('status ends with 3 and says why, until the new shape is accepted', async () => {
  const before = await status('--json')
  expect(before.code).toBe(3)
  expect(JSON.parse(before.stdout)).toMatchObject({ organizations: [{ proof: 'unproven', why: ['shape-changed'] }] })
  expect((await status('--format', 'prometheus')).stdout).toContain(
    'customer_mirror_standing{organization="acme",state="shape-changed"} 1',
  )
  expect((await status('--html', '-')).stdout).toContain('customer-mirror accept acme')

  expect(await accept()).toEqual({
    code: 0,
    stdout: 'acme: accepted. The next run stores what it receives:\n  phone: empty for 100 customers\n',
    stderr: '',
  })

  expect((await status()).code).toBe(0)
})

test('runs show names the field and how many customers have lost it', async () => {
  const { stdout } = await runCommand(runsCommand, ['show', '2', '--config', workplace.config])

  expect(stdout).toContain('shape-changed: Many records have lost a field')
  expect(stdout).toContain('  phone: empty for 100 customers\n')
})

test('/readyz names the organization and stays ready, and the night did not go well', async () => {
  const { organizations } = await readConfig({ file: workplace.config, cwd: '/' })
  const readiness = await examine({ write: async () => {}, workers: [], organizations, mirror, nowMs: Date.now() })
  const run = await mirror.findRun(2)

  expect(readiness).toMatchObject({ ready: true, shapeChanged: ['acme'] })
  expect(wentWell([{ ended: 'complete', run, heldRemovals: 0 }])).toBe(false)
})

test('--json prints what was accepted, and there is nothing more to accept', async () => {
  expect(JSON.parse((await accept('--json')).stdout)).toEqual({
    schemaVersion: 1,
    organization: 'acme',
    accepted: [{ field: 'phone', customers: 100, isRejected: false }],
  })

  expect(await accept()).toMatchObject({ code: 2, stderr: expect.stringContaining('there is nothing to accept') })
})
