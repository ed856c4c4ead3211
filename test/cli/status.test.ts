import { statSync, truncateSync } from 'node:fs'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { statusCommand } from '../../src/cli/status.ts'
import { syncCommand } from '../../src/cli/sync.ts'
import { html, list } from '../support/fault-server.ts'
import { tamper } from '../support/mirror-file.ts'
import { runCli } from '../support/run-cli.ts'
import { runCommand } from '../support/run-command.ts'
import { aFaultServer, aSandbox, aWorkplace, organizationAt, organizationsOf } from '../support/workplace.ts'

const statusDocument = z.strictObject({
  schemaVersion: z.literal(1),
  organizations: z.array(
    z.strictObject({
      organization: z.string(),
      readAsOf: z.iso.datetime().nullable(),
      readAgeSeconds: z.int().nullable(),
      provenAsOf: z.iso.datetime().nullable(),
      provenAgeSeconds: z.int().nullable(),
      proof: z.string().nullable(),
      lastRun: z.int().nullable(),
      lastStatus: z.string().nullable(),
      active: z.int(),
      missing: z.int(),
      removed: z.int(),
      held: z.int(),
      openRejects: z.int(),
      tooOld: z.boolean(),
      why: z.array(z.string()),
      paused: z.strictObject({ since: z.iso.datetime(), until: z.iso.datetime().nullable() }).nullable(),
      lastQuick: z
        .strictObject({
          run: z.int(),
          startedAt: z.iso.datetime(),
          status: z.string(),
          reasons: z.array(z.string()),
          requests: z.int(),
          trustedPages: z.int(),
          inserted: z.int(),
          updated: z.int(),
          missing: z.int(),
          held: z.int(),
          errorCode: z.string().nullable(),
        })
        .nullable(),
    }),
  ),
})

/** Three organizations, of which the last was never mirrored. */
async function mirroredYesterday() {
  const workplace = aWorkplace(organizationsOf(await aSandbox({ customers: [120, 7, 3] })))
  await runCommand(syncCommand, ['acme', 'globex', '--config', workplace.config])
  const day = `read_as_of = datetime(read_as_of, '-1 day'), started_at = datetime(started_at, '-1 day')`
  tamper(workplace.mirror, `UPDATE runs SET ${day} WHERE organization = 'globex'`)
  return workplace
}

test('a table shows how current each organization is, including those never mirrored', async () => {
  const { folder } = await mirroredYesterday()
  const { code, stdout, stderr } = await runCli(['status'], { cwd: folder })

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/^organization +read +proven +proof /)
  expect(stdout).toMatch(/^acme +\d.* m?s +never +unproven +#\d complete +120 +0 +0 +0 +0 +plain-scan$/m)
  expect(stdout).toMatch(/^globex +.* 24 h.* never +unproven +#\d complete +7 +0 +0 +0 +0 +plain-scan$/m)
  expect(stdout).toMatch(/^initech +never +never +– +– +0 +0 +0 +0 +0 +never-mirrored$/m)
})

test.each([
  ['an organization that was never mirrored', ['--max-age', '9000d'], ['initech']],
  ['organizations older than it', ['--max-age', '23h'], ['globex', 'initech']],
  ['nothing, when it is not given', [], []],
])('--max-age finds %s too old, and then ends with 3', async (_, args, expected) => {
  const { config } = await mirroredYesterday()
  const { code, stdout } = await runCommand(statusCommand, ['--json', ...args, '--config', config])
  const { organizations } = statusDocument.parse(JSON.parse(stdout))

  expect(code).toBe(expected.length > 0 ? 3 : 0)
  expect(organizations.filter(({ tooOld }) => tooOld).map(({ organization }) => organization)).toEqual(expected)
  expect(organizations.map(({ readAgeSeconds }) => readAgeSeconds === null)).toEqual([false, false, true])
})

test('--max-age accepts younger readings, to the unit', async () => {
  const workplace = aWorkplace(organizationsOf(await aSandbox({ customers: [3] })))
  await runCommand(syncCommand, ['--config', workplace.config])
  tamper(workplace.mirror, `UPDATE runs SET read_as_of = datetime('now', '-25 hours')`)
  const codes = []
  for (const age of ['26h', '2d', '1561m', '24h', '1d', '1499m', '10s']) {
    const { code } = await runCommand(statusCommand, ['--max-age', age, '--config', workplace.config])
    codes.push(code)
  }

  expect(codes).toEqual([0, 0, 0, 3, 3, 3, 3])
})

test('a run that failed does not make an organization any younger', async () => {
  const server = await aFaultServer(list(3), html(200))
  const workplace = aWorkplace([organizationAt(server)])
  await runCommand(syncCommand, ['--config', workplace.config])
  tamper(workplace.mirror, `UPDATE runs SET read_as_of = datetime('now', '-27 hours')`)
  await runCommand(syncCommand, ['--config', workplace.config])
  const { code, stdout } = await runCommand(statusCommand, ['--max-age', '26h', '--json', '--config', workplace.config])
  const [acme] = statusDocument.parse(JSON.parse(stdout)).organizations

  expect(code).toBe(3)
  expect(acme).toMatchObject({ active: 3, lastRun: 2, lastStatus: 'failed', tooOld: true })
})

test('without a mirror it ends with 7 and explains how to create one', async () => {
  const { folder, mirror } = aWorkplace(organizationsOf(await aSandbox({ customers: [1] })))
  const { code, stdout, stderr } = await runCli(['status', '--max-age', '26h'], { cwd: folder })

  expect({ code, stdout }).toEqual({ code: 7, stdout: '' })
  expect(stderr).toBe(
    `${mirror}: there is no mirror yet. Run 'customer-mirror sync' to make it, or name another one.\n`,
  )
})

test('a mirror that lost its content is no mirror without customers', async () => {
  const { folder, mirror, config } = aWorkplace(organizationsOf(await aSandbox({ customers: [1] })))
  await runCommand(syncCommand, ['--config', config])
  truncateSync(mirror)

  for (const args of [['status'], ['runs'], ['removals', 'list'], ['publish', 'copy.db'], ['backup', 'backup.db']]) {
    const { code, stdout, stderr } = await runCli(args, { cwd: folder })
    expect({ args, code, stdout }).toEqual({ args, code: 7, stdout: '' })
    expect(stderr).toContain(`${mirror}: there is no mirror yet. Run 'customer-mirror sync' to make it`)
  }
  expect(statSync(mirror).size).toBe(0)
})

test.each(['yesterday', '26', '-1h', '1w'])('--max-age %s ends with 2', async (age) => {
  const { folder } = aWorkplace(organizationsOf(await aSandbox({ customers: [1] })))
  const { code, stderr } = await runCli(['status', `--max-age=${age}`], { cwd: folder })

  expect(code).toBe(2)
  expect(stderr).toContain('It must be a time such as 90m, 26h or 2d.')
})

test('a quick run is shown apart, and no date, age or reason of the table is about it', async () => {
  const { config, mirror } = await mirroredYesterday()
  tamper(
    mirror,
    `INSERT INTO runs (organization, "trigger", started_at, finished_at, status, reasons, requests, inserted, missing, held, trusted_pages,
       read_as_of, error_code)
     VALUES ('acme', 'schedule', '2026-01-05 10:15:00', '2026-01-05 10:15:02', 'partial', '["quick","quick-budget"]', 31, 5, 0, 21, 969,
       '2026-01-05 10:15:00', NULL),
       ('globex', 'schedule', '2026-01-05 10:30:00', '2026-01-05 10:30:02', 'failed', '["failed"]', 1, 0, 0, 0, 0, '2026-01-05 10:30:00',
       'server-error')`,
  )
  const text = await runCommand(statusCommand, ['--config', config])
  const json = await runCommand(statusCommand, ['--config', config, '--json', '--max-age', '23h'])
  const [acme, globex, initech] = statusDocument.parse(JSON.parse(json.stdout)).organizations

  expect(text.stdout).toMatch(/^acme .* #3 partial +120 .* plain-scan$/m)
  expect(text.stdout).toMatch(/^globex .* 24 h.* #4 failed +7 .* plain-scan$/m)
  expect(text.stdout.split('\n').slice(-4)).toEqual([
    '',
    'acme: last quick run #3 at 2026-01-05 10:15 UTC: 5 new, 0 missing, 0 changed, 21 absent at once and not marked (31 requests, 969 pages trusted without reading; quick-budget)',
    'globex: last quick run #4 at 2026-01-05 10:30 UTC: failed, server-error',
    '',
  ])
  expect(acme).toMatchObject({
    lastRun: 3,
    lastStatus: 'partial',
    why: ['plain-scan'],
    lastQuick: { run: 3, missing: 0, held: 21 },
  })
  expect(globex).toMatchObject({
    tooOld: true,
    why: ['no-run-since', 'plain-scan'],
    lastQuick: { errorCode: 'server-error' },
  })
  expect(initech).toMatchObject({ lastQuick: null })
})
