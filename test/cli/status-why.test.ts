import type { Ending } from '../../src/model/run.ts'
import type { Mirror } from '../../src/model/mirror.ts'
import { beforeEach, expect, test } from 'vitest'
import { removalsCommand } from '../../src/cli/removals.ts'
import { statusCommand } from '../../src/cli/status.ts'
import { customers } from '../support/builders.ts'
import { list, refusal } from '../support/fault-server.ts'
import { mirrorPages, tamper } from '../support/mirror-file.ts'
import { runCli } from '../support/run-cli.ts'
import { runCommand } from '../support/run-command.ts'
import { aFaultServer, aMirroredWorkplace, aWorkplace, organizationAt, type Workplace } from '../support/workplace.ts'

const HOUR_MS = 3_600_000
const PROVEN = {
  proof: 'proven',
  reasons: [],
  removals: { rule: { after: 2, maxShare: 0.1 }, confirmed: new Set<string>() },
} as const
const NOT_PROVEN = { proof: 'unproven', reasons: ['rejected-without-id'] } as const
const FAILED = {
  status: 'failed',
  reasons: ['failed'],
  readToEnd: false,
  error: { code: 'unauthorized', message: 'The service refused the key.' },
} as const

let workplace: Workplace
let mirror: Mirror

beforeEach(async () => {
  ;({ workplace, mirror } = await aMirroredWorkplace())
  return () => mirror.close()
})

const status = (...args: string[]) => runCommand(statusCommand, [...args, '--config', workplace.config])
const aRun = (hoursAgo: number, ending: Partial<Ending>, records = customers(1, 100)) =>
  mirrorPages(mirror, [records], { atMs: Date.now() - hoursAgo * HOUR_MS, ending })

/** The code `status` ends with, and what it says of acme. */
async function said(...args: string[]) {
  const { code, stdout } = await status('--json', ...args)
  const { organizations } = JSON.parse(stdout)
  return { code, ...organizations[0] }
}

test('one record without an id costs the proof, not the freshness', async () => {
  await aRun(48, PROVEN)
  await aRun(2, NOT_PROVEN)

  expect(await said('--max-age', '26h')).toMatchObject({
    ...{ code: 0, tooOld: false, why: ['rejected-without-id'] },
    ...{ readAgeSeconds: hours(2), provenAgeSeconds: hours(48), proof: 'unproven' },
  })
  expect(await said('--max-age', '26h', '--proven')).toMatchObject({ code: 3, tooOld: true })
  expect(await said('--max-age', '3d', '--proven')).toMatchObject({ code: 0, tooOld: false })
})

test('the table marks the date that is too old', async () => {
  await aRun(2, NOT_PROVEN)

  expect((await status('--max-age', '26h')).stdout).not.toContain('too old')
  expect((await status('--max-age', '1h')).stdout).toMatch(/ 2 h.* \(too old\) +never +/)
  expect((await status('--max-age', '26h', '--proven')).stdout).toMatch(/ 2 h.* never \(too old\) /)
  expect((await status()).stdout).toMatch(/ rejected-without-id$/m)
})

test('--proven without --max-age ends with 2', async () => {
  const { code, stdout, stderr } = await status('--proven')

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toBe('--proven changes what --max-age checks. Use both: status --max-age 26h --proven\n')
})

test.each<[string, () => Promise<unknown>, string[]]>([
  ['the error of the last run', () => aRun(1, FAILED), ['unauthorized']],
  ['nothing, of a run that is proven', () => aRun(1, PROVEN), []],
  ['that no run came after the last one', () => aRun(30, PROVEN), ['no-run-since']],
  ['that its first run is under way', () => mirror.startRun(now()), ['running']],
  ['that a run is under way', () => aRun(30, PROVEN).then(() => mirror.startRun(now())), ['running']],
])('why reports %s', async (_, arrange, why) => {
  await arrange()

  expect(await said('--max-age', '26h')).toMatchObject({ why })
})

test('a mirror without any run is reported', async () => {
  expect(await said()).toMatchObject({ code: 0, readAsOf: null, provenAsOf: null, held: 0, why: ['never-mirrored'] })
})

test.each([
  ['the service was away', { ...FAILED, error: { code: 'server-error', message: '503' } }, false],
  ['the service refused it, until a run succeeds', FAILED, true],
])(
  'a first load whose last attempt failed, as %s, is as old between attempts as during one',
  async (_, failed, tooOld) => {
    await aRun(5, failed)
    const between = await said('--max-age', '26h')
    const longAgo = await said('--max-age', '4h')
    await mirror.startRun({ organization: 'acme', trigger: 'schedule', nowMs: Date.now() })
    const during = await said('--max-age', '26h')

    expect([between, during].map((each) => each.tooOld)).toEqual([tooOld, tooOld])
    expect(longAgo).toMatchObject({ code: 3, tooOld: true })
  },
)

test('an organization that only a quick run has asked for was never mirrored, and is too old', async () => {
  const ending = { status: 'partial', reasons: ['quick', 'no-order'], readToEnd: false, trustedPages: 0 } as const
  await mirrorPages(mirror, [], { atMs: Date.now(), ending, isQuick: true })

  expect(await said('--max-age', '26h')).toMatchObject({ code: 3, tooOld: true, why: ['never-mirrored'] })
})

test('while removals are held back it ends with 3, whatever later runs do, until they are approved', async () => {
  await aRun(50, PROVEN)
  const { runId, held } = await aRun(26, PROVEN, customers(51, 100))
  await aRun(2, NOT_PROVEN, customers(51, 100))

  expect(held).toBe(50)
  expect(await said()).toMatchObject({ code: 3, held: 50, tooOld: false, why: ['rejected-without-id', 'held 50'] })
  expect((await status()).stdout).toMatch(/ 50 +0 +rejected-without-id, held 50$/m)
  await mirror.close()
  await runCommand(removalsCommand, ['approve', `${runId}`, '--yes', '--config', workplace.config])
  expect(await said()).toMatchObject({ code: 0, held: 0, removed: 50, why: ['rejected-without-id'] })
})

test('a date far in the future does not count as fresh', async () => {
  await aRun(0, PROVEN)
  tamper(workplace.mirror, `UPDATE runs SET read_as_of = datetime('now', '+1 hours')`)
  expect(await said('--max-age', '26h')).toMatchObject({ code: 0, tooOld: false })

  tamper(workplace.mirror, `UPDATE runs SET read_as_of = '2051-01-01 00:00:00'`)
  expect(await said('--max-age', '26h')).toMatchObject({ code: 3, tooOld: true })
  expect(await said('--max-age', '26h', '--proven')).toMatchObject({ code: 3, tooOld: true })
  expect(await said()).toMatchObject({ code: 0, tooOld: false, readAsOf: '2051-01-01T00:00:00.000Z' })
})

test('a date in the future is called that, with what to do, and not that no run came since', async () => {
  await aRun(0, PROVEN)
  tamper(workplace.mirror, `UPDATE runs SET read_as_of = datetime('now', '+1 hours')`)
  expect(await said()).toMatchObject({ why: [] })
  expect((await status()).stdout).not.toContain('in the future')

  tamper(workplace.mirror, `UPDATE runs SET read_as_of = '2051-01-01 00:00:00'`)
  expect(await said('--max-age', '26h')).toMatchObject({ tooOld: true, why: ['future-date'] })
  const { stdout } = await status('--max-age', '26h')
  expect(stdout).toMatch(/^acme +in the future +in the future .* future-date$/m)
  expect(stdout).toContain(
    '✖ acme: future-date\n  fix: The date lies in the future. Check the clock, then sync again.\n',
  )
  expect(stdout).not.toMatch(/too old|no-run-since|0 ms/)
  expect((await status('--max-age', '26h', '--proven')).stdout).toMatch(/^acme +in the future +in the future /m)
})

test('a proof in the future does not hide that no run came since', async () => {
  await aRun(50, PROVEN)
  await aRun(30, NOT_PROVEN)
  tamper(workplace.mirror, `UPDATE runs SET read_as_of = '2051-01-01 00:00:00' WHERE proof = 'proven'`)

  expect((await said('--max-age', '26h')).why).toEqual(['future-date', 'no-run-since', 'rejected-without-id'])
})

test('what needs a person stands first, once for all organizations with the same problem', async () => {
  const refusing = await aFaultServer(refusal(403, 'forbidden', 'No.'))
  const shops = Array.from({ length: 20 }, (_, index) => ({
    ...organizationAt(refusing, { id: `shop-${index}` }),
    apiKey: `key-${index}`,
  }))
  const { folder } = aWorkplace([organizationAt(await aFaultServer(list(3)), { id: 'acme' }), ...shops])
  const synced = await runCli(['sync'], { cwd: folder })
  const { stdout } = await runCli(['status'], { cwd: folder })

  for (const text of [synced.stderr, stdout]) {
    expect(text.match(/^✖ 20 organizations: plan forbids.*shop-0, .*shop-19/gm)).toHaveLength(1)
    expect(text.match(/fix: /g)).toHaveLength(1)
  }
  const lines = stdout.split('\n')
  expect(lines[0]).toMatch(/^✖ 20 organizations/)
  expect(lines.findIndex((line) => line.startsWith('shop-'))).toBeLessThan(
    lines.findIndex((line) => line.startsWith('acme ')),
  )
})

function now() {
  return { organization: 'acme', trigger: 'sync', nowMs: Date.now() } as const
}

/** So many hours in seconds, and what a busy machine adds. */
function hours(number: number) {
  return expect.toSatisfy((seconds: number) => Math.floor(seconds / 3600) === number)
}
