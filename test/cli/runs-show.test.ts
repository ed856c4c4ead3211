import { beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { runsCommand } from '../../src/cli/runs.ts'
import type { Mirror } from '../../src/model/mirror.ts'
import { explainReason, REASONS } from '../../src/model/reasons.ts'
import type { Ending } from '../../src/model/run.ts'
import { anEnding, aPage, customers, MINUTE_MS, START_MS } from '../support/builders.ts'
import { mirrorPages } from '../support/mirror-file.ts'
import { runCli } from '../support/run-cli.ts'
import { runCommand } from '../support/run-command.ts'
import { runOnScreen } from '../support/screen.ts'
import { someOf } from '../support/seeds.ts'
import { temporaryFolder } from '../support/temp-folder.ts'
import { aMirroredWorkplace, type Workplace } from '../support/workplace.ts'

const document = z.strictObject({
  schemaVersion: z.literal(1),
  run: z.looseObject({
    id: z.int(),
    organization: z.string(),
    reasons: z.array(z.string()),
    startedAt: z.iso.datetime(),
    resumedFrom: z.int().nullable(),
    certificate: z.looseObject({}).nullable(),
  }),
})

const CERTIFICATE = { requests: 12, distinct: 3, total: 3, isWhole: true, holes: [], reasons: [] }

let workplace: Workplace
let mirror: Mirror

beforeEach(async () => {
  ;({ workplace, mirror } = await aMirroredWorkplace())
  return () => mirror.close()
})

const show = (...args: string[]) => runCommand(runsCommand, ['show', ...args, '--config', workplace.config])
const ended = (ending: Partial<Ending>) => mirrorPages(mirror, [customers(1, 3)], { ending })

test.each(someOf(REASONS, { every: 5 }))('%s is explained in a sentence', async (reason) => {
  await ended({ proof: 'unproven', reasons: [reason], certificate: { ...CERTIFICATE, reasons: [reason] } })

  const { code, stdout } = await show('1')

  expect(code).toBe(0)
  expect(stdout).toContain('Unproven: this scan does not show that a customer has left the list')
  expect(stdout).toContain(`  ${reason}: ${explainReason(reason)}\n`)
  expect(explainReason(reason)).toMatch(/^[A-Z].{15,}\.$/)
})

test.each([40, 80])('on a terminal of %i columns, no word is cut in the middle', async (columns) => {
  await ended({ proof: 'unproven', reasons: ['older-list'], certificate: { ...CERTIFICATE, reasons: ['older-list'] } })

  const args = ['show', '1', '--config', workplace.config]
  const { text, broken } = await runOnScreen(runsCommand, args, { columns })

  expect(broken).toEqual([])
  expect(text.replaceAll(/\s+/g, ' ')).toContain(explainReason('older-list'))
})

test('every reason of a run is explained, in order, and each once', async () => {
  await ended({ proof: 'unproven', reasons: ['hole', 'short-page', 'no-overlap'], certificate: CERTIFICATE })

  const lines = (await show('1')).stdout.split('\n').filter((line) => line.startsWith('  '))

  expect(lines.map((line) => line.trim().split(':')[0])).toEqual(['hole', 'short-page', 'no-overlap'])
})

test('new fields of most customers are named', async () => {
  await ended({ proof: 'proven', reasons: [], certificate: { ...CERTIFICATE, newFields: ['tier', 'sc\u001b[31more'] } })

  const { stdout } = await show('1')
  expect(stdout).toContain('More than half of the customers have new fields, kept in extra: tier, sc')
  expect(stdout).not.toContain('\u001b')
})

test('a run whose searches were refused names how many', async () => {
  const removals = { rule: { after: 2, maxShare: 0.1 }, confirmed: new Set<string>(), refused: 3 }
  await ended({ proof: 'proven', reasons: [], certificate: CERTIFICATE, removals })

  expect((await show('1')).stdout).toContain(
    '3 searches for absent customers refused by the service, or without an answer',
  )
})

test.each([
  ['failed', 'failed', 'The run ended with the error above'],
  ['interrupted', 'interrupted', 'The scan was stopped before'],
] as const)('a run that %s shows its error, and that its saved rows are kept', async (status, reason, sentence) => {
  const error = { code: 'network', message: 'acme: no answer within 30 s' }
  await ended({ status, reasons: [reason], error })

  const { stdout } = await show('1')

  expect(stdout).toMatch(new RegExp(`^run #1 of acme, ${status}, started 2026-01-05 02:00 UTC \\(sync\\)\n`))
  expect(stdout).toContain('network: acme: no answer within 30 s')
  expect(stdout).toContain(`  ${reason}: ${sentence}`)
})

test.each([
  [{ basis: 'one-page' }, 'the list fits one page'],
  [{ basis: 'witness', witness: 'created_at asc, id asc' }, 'its pages are linked, ordered by created_at asc, id asc'],
])('a proof names its evidence: %o', async (basis, words) => {
  await ended({ proof: 'proven', reasons: [], certificate: { ...CERTIFICATE, ...basis } })

  const { stdout } = await show('1')

  expect(stdout).toContain(`Proven: every customer who was listed during the whole scan was read (${words}).`)
})

test('a settled scan is reported as weaker than proven, with what it says and its reason', async () => {
  await ended({ proof: 'settled', reasons: ['no-witness'], certificate: CERTIFICATE })

  const { stdout } = await show('1')

  expect(stdout).toMatch(
    /^Settled: every customer who kept their place among the others .* was read\. Weaker than a proof, because$/m,
  )
  expect(stdout).toContain(`  no-witness: ${explainReason('no-witness')}`)
})

test('a quick run says how many pages it trusted, and that it marked too many absent customers as nothing', async () => {
  await ended({ proof: 'proven', reasons: [] })
  const run = await mirror.startRun({ organization: 'acme', trigger: 'schedule', isQuick: true, nowMs: START_MS })
  const removals = { rule: { after: 2, maxShare: 0.1 }, confirmed: new Set<string>() }
  const quick = { status: 'partial', reasons: ['quick', 'quick-budget'], readToEnd: false, trustedPages: 988 } as const
  await mirror.finishRun(run, anEnding({ ...quick, absentRows: [1, 2, 3], removals }), START_MS)

  const { stdout } = await show('2')

  expect(stdout).toMatch(/^run #2 of acme, partial, started/)
  expect(stdout).toContain('3 absent at once and not marked · ')
  expect(stdout).toContain('· partial (quick, quick-budget), 988 pages trusted without reading\n')
  expect(stdout).toContain('Partial: this quick run trusted 988 pages without reading them.\n')
  expect(stdout).toContain(`  quick: ${explainReason('quick')}\n  quick-budget: ${explainReason('quick-budget')}\n`)
  expect(stdout).toContain('3 customers absent at once, too many to be marked as missing: the next full run decides.')
  expect(stdout).not.toContain('removals approve')
})

test('holes, and a limit of the service, are shown with the reasons', async () => {
  const holes = [
    { position: 499, size: 1 },
    { position: 600, size: 5 },
  ]
  await ended({ proof: 'unproven', reasons: ['hole'], certificate: { ...CERTIFICATE, holes, limit: 700, total: 1234 } })

  const { stdout } = await show('1')

  expect(stdout).toContain('The service shows only the first 700 of 1,234 customers.\n')
  expect(stdout.match(/^ +hole\b/gm)).toHaveLength(1)
  expect(stdout).toContain('  not read: position 500 of the list\n')
  expect(stdout).toContain('  not read: positions 601 to 605 of the list\n')
})

test('a run that held removals back shows how to approve and how to discard them', async () => {
  await mirrorPages(mirror, [customers(1, 100)])
  const removals = { rule: { after: 2, maxShare: 0.1 }, confirmed: new Set<string>() }
  const ending = { proof: 'proven', reasons: [], removals, certificate: CERTIFICATE } as const
  await mirrorPages(mirror, [customers(51, 100)], { atMs: START_MS + MINUTE_MS, ending })

  const { stdout } = await show('2')

  expect(stdout).toContain('50 removals held back')
  // Each command is whole on a line of its own, to be copied.
  const option = `--config ${workplace.config}`
  expect(stdout).toContain(`\n  they are gone        customer-mirror removals approve acme ${option}\n`)
  expect(stdout).toContain(`\n  they are not         customer-mirror removals discard acme ${option}\n`)
})

test('a run contradicted by a search names the found customers by id, and explains the other removals', async () => {
  const rule = { after: 1, maxShare: 0.5 }
  await mirrorPages(mirror, [customers(1, 100)])
  const gone = customers(1, 15).map(({ id }) => String(id))
  const ending = { proof: 'proven', reasons: [], certificate: CERTIFICATE } as const
  const found = new Set(gone.slice(0, 12))
  const removals = { rule, confirmed: new Set<string>(), found, isSample: true }
  await mirrorPages(mirror, [customers(16, 100)], { atMs: START_MS + MINUTE_MS, ending: { ...ending, removals } })

  const { stdout } = await show('2')

  expect(stdout).toContain('Unproven: ')
  expect(stdout).toContain('  contradicted: A search found a customer')
  expect(stdout.match(/found by a search, but not in the list: [0-9a-f-]{36}\n/g)).toHaveLength(10)
  expect(stdout).toContain('  and 2 more, in the certificate (--json)')
  expect(stdout).toContain('3 removals held back: a search of a sample of them found a customer that is listed.')
  const { run } = document.parse(JSON.parse((await show('2', '--json')).stdout))
  expect(run.certificate).toMatchObject({ proof: 'unproven', reasons: ['contradicted'], found: [...found] })
})

test('a run that continued another one names it', async () => {
  const start = { organization: 'acme', trigger: 'sync', resumeWithinMs: 60 * MINUTE_MS } as const
  const first = await mirror.startRun({ ...start, nowMs: START_MS })
  const window = { page: 1, size: 100, perPage: 100, total: 3, lastPage: 1, beyondEnd: false }
  const sorted = {
    known: [],
    customers: [],
    places: [],
    rejects: [],
    suppressed: [],
    warnings: {},
    rowIds: [],
    rows: [],
  }
  const page = { ...sorted, page: 1, received: 0, window }
  await mirror.savePages(first, [page], START_MS)
  const error = { code: 'interrupted', message: 'stopped as asked' }
  await mirror.finishRun(first, anEnding({ status: 'interrupted', reasons: ['interrupted'], error }), START_MS)
  const second = await mirror.startRun({ ...start, nowMs: START_MS + MINUTE_MS })
  await mirror.finishRun(second, anEnding(), START_MS + MINUTE_MS)

  expect((await show('2')).stdout).toContain('It continued run #1, which had been interrupted.')
  expect(document.parse(JSON.parse((await show('2', '--json')).stdout)).run).toMatchObject({ resumedFrom: 1 })
})

test('a run under way is shown with what it has read, and with nothing that only its end shows', async () => {
  const run = await mirror.startRun({ organization: 'acme', trigger: 'schedule', nowMs: START_MS })
  await mirror.savePages(run, [aPage(1, customers(1, 3))], START_MS)

  const { stdout } = await show('1')
  const table = await runCommand(runsCommand, ['--config', workplace.config])

  expect(stdout).toMatch(/^run #1 of acme, running, started/)
  expect(stdout).toContain('3 customers so far: 3 new\n\nRunning: what it proves is known when it ends.')
  expect(stdout).not.toMatch(/Unproven|unproven|0 ms|request/)
  expect(table.stdout).toMatch(/^#1 .* running +3 +3 .* 0 +– +– +–$/m)
})

test('an old run without a certificate is still shown', async () => {
  await ended({ proof: 'proven', reasons: [] })
  await ended({ proof: 'unproven', reasons: ['something-new'] })

  expect(await show('1')).toMatchObject({ code: 0, stdout: expect.stringContaining('Proven: every customer') })
  expect(await show('2')).toMatchObject({ code: 0, stdout: expect.stringContaining('something-new') })
})

test('--json contains the report and the recorded certificate', async () => {
  const certificate = { ...CERTIFICATE, proof: 'proven', basis: 'quiet' }
  await ended({ proof: 'proven', reasons: [], certificate })

  const { run } = document.parse(JSON.parse((await show('1', '--json')).stdout))

  expect(run).toMatchObject({ id: 1, organization: 'acme', proof: 'proven', received: 3, resumedFrom: null })
  expect(run.certificate).toEqual(certificate)
})

test.each([['7'], ['#7']])(
  'a run that does not exist, such as %s, ends with 2 and says how to find one',
  async (number) => {
    const { code, stdout, stderr } = await show(number)

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain("There is no run 7. 'customer-mirror runs' lists them.")
  },
)

test('the program takes the options before and after the number, and of its parent command too', async () => {
  await ended({ proof: 'unproven', reasons: ['hole'], certificate: CERTIFICATE })
  const told = (await show('1')).stdout
  const folder = temporaryFolder()
  const elsewhere = workplace.config

  for (const args of [
    ['runs', 'show', '1', '-c', elsewhere],
    ['runs', 'show', '-c', elsewhere, '1'],
    ['runs', 'show', '#1', `--config=${elsewhere}`],
    ['runs', '-c', elsewhere, 'show', '1'],
    ['runs', '--config', elsewhere, 'show', '1'],
  ]) {
    expect({ args, ...(await runCli(args, { cwd: folder })) }).toMatchObject({ args, code: 0, stdout: told })
  }
  const { stdout } = await runCli(['runs', '--json', 'show', '1', '-c', elsewhere], { cwd: folder })
  expect(document.parse(JSON.parse(stdout)).run).toMatchObject({ id: 1 })
})
