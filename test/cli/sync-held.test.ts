import { beforeEach, expect, test } from 'vitest'
import { heldWarning } from '../../src/cli/output/advice.ts'
import { removalsCommand } from '../../src/cli/removals.ts'
import { runsCommand } from '../../src/cli/runs.ts'
import { syncCommand } from '../../src/cli/sync.ts'
import { aRecord, html, list, type Reply } from '../support/fault-server.ts'
import { onlyRun } from '../support/json-page.ts'
import { valueOf } from '../support/mirror-file.ts'
import { runCommand } from '../support/run-command.ts'
import { aFaultServer, aWorkplace, organizationAt, type Workplace } from '../support/workplace.ts'

/** What acme and globex answer with. */
let replies: { acme: Reply; globex: Reply }
let workplace: Workplace

beforeEach(async () => {
  replies = { acme: list(90), globex: list(3, { envelope: { data: [901, 902, 903].map(aRecord) } }) }
  const acme = await aFaultServer((response, request) => replies.acme(response, request))
  const globex = await aFaultServer((response, request) => replies.globex(response, request))
  workplace = aWorkplace([organizationAt(acme), organizationAt(globex, { id: 'globex' })], {
    defaults: { scan: 'chain', maxWait: '0s' },
  })
})

const sync = (...args: string[]) => runCommand(syncCommand, [...args, '--config', workplace.config])
const removals = (...args: string[]) => runCommand(removalsCommand, [...args, '--config', workplace.config])

/** Run 3 is the night in which fifty of the ninety customers of acme were gone. */
async function aNightThatHolds() {
  await sync()
  replies.acme = list(40)
  return sync('acme')
}

/** The commands name the configuration that the sync was given, so that they can be copied. */
const warning = () => WARNING.replaceAll(/ (3|acme)$/gm, ` $1 --config ${workplace.config}`)
const WARNING = `
acme: 50 removals are held back by run 3, until you decide.
Those customers stay unchanged. Ask the service owner whether they are gone.
  why, and how many    customer-mirror runs show 3
  who they are         customer-mirror removals show acme
  they are gone        customer-mirror removals approve acme
  they are not         customer-mirror removals discard acme
`

test('a night that holds removals back counts them in its row, and warns', async () => {
  const { code, stdout, stderr } = await aNightThatHolds()

  expect(code).toBe(3)
  expect(stdout).toMatch(/ removed +held +requests /)
  expect(stdout).toMatch(/^acme +complete +40 +0 +0 +40 +0 +0 +50 /m)
  expect(stderr.endsWith(warning())).toBe(true)
  for (const line of WARNING.split('\n')) expect(line.length).toBeLessThan(80)
})

test('every sync warns, whatever it mirrors and however it ends, until they are decided', async () => {
  await aNightThatHolds()
  replies.acme = html(500)

  const later = [await sync('globex'), await sync('acme'), await sync('--json'), await sync('--dry-run')]

  expect(later.map(({ code }) => code)).toEqual([0, 5, 3, 3])
  for (const { stderr } of later) expect(stderr.endsWith(warning())).toBe(true)
  expect(valueOf(workplace.mirror, 'SELECT max(held) FROM runs WHERE id > 3')).toBe(0)
})

test.each(['approve', 'discard'])('after removals %s, no sync warns any more', async (decision) => {
  await aNightThatHolds()
  await removals(decision, '3', '--yes')

  expect((await sync('globex')).stderr).not.toContain('held back')
  expect((await sync()).code).toBe(0)
})

test('--json leaves its document alone, with what the run held back', async () => {
  await sync()
  replies.acme = list(40)
  const { stdout } = await sync('acme', '--json')

  expect(onlyRun(stdout)).toMatchObject({ held: 50, proof: 'proven' })
})

test('with --log-level, the warning is a JSON line', async () => {
  await aNightThatHolds()
  const { stderr } = await sync('globex', '--log-level', 'warn')
  const lines = stderr.split('\n').filter((line) => line.startsWith('{'))

  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: 'warn', msg: 'removals held back', organization: 'acme', held: 50, heldBy: 3 },
  ])
  expect(stderr).not.toContain('customer-mirror removals')
})

test('a dry run warns of what the mirror holds back, and names no run that was never written', async () => {
  await sync()
  replies.acme = list(40)
  const { stdout, stderr } = await sync('acme', '--dry-run')

  expect(stdout).toMatch(/^acme +complete +40 +0 +0 +40 +0 +0 +50 /m)
  expect(stderr).not.toContain('removals approve')
})

test('a run without undecided removals says so', async () => {
  await aNightThatHolds()
  const show = () => runCommand(runsCommand, ['show', '3', '--config', workplace.config])
  expect((await show()).stdout).toContain('customer-mirror removals approve acme')
  await removals('discard', '3', '--yes')

  expect((await show()).stdout).toContain('50 removals held back')
  expect((await show()).stdout).toContain('Nothing is left to decide')
  expect((await show()).stdout).not.toContain('customer-mirror removals approve')
})

test('a failed look-up is reported, and one removal is singular', () => {
  expect(heldWarning([], undefined)).toBe('')
  expect(heldWarning(undefined, undefined)).toContain('Could not look up whether removals are held back')
  expect(heldWarning([{ runId: 7, organization: 'acme', held: 1, startedAtMs: 0 }], undefined)).toContain(
    'acme: 1 removal is held back by run 7',
  )
})
