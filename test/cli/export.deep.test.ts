import { beforeEach, describe, expect, test } from 'vitest'
import { exportCommand } from '../../src/cli/export.ts'
import { aCustomer } from '../support/builders.ts'
import { aMirrorToExport } from '../support/full-mirror.ts'
import { aMirror, mirrorPages, tamper } from '../support/mirror-file.ts'
import { aPlan, publishAll } from '../support/publishing.ts'
import { startCli } from '../support/run-cli.ts'
import { runCommand } from '../support/run-command.ts'
import { runOnScreen } from '../support/screen.ts'
import { temporaryFolder } from '../support/temp-folder.ts'
import { aWorkplace } from '../support/workplace.ts'

let mirror: string

beforeEach(async () => {
  mirror = await aMirrorToExport()
})

describe('what is exported', () => {
  test('what a published copy holds', async () => {
    const plan = aPlan(mirror, { withoutPersonalData: true })
    publishAll(plan)
    const { code, stdout, stderr } = await runCommand(exportCommand, ['--format', 'csv', '--mirror', plan.file])

    expect({ code, stderr }).toEqual({ code: 0, stderr: 'Exported 4 customers\nLast seq: 2\n' })
    expect(stdout).toMatch(/^organization,id,language,timezone,created_at,/)
  })
})

describe('bad input ends before anything is written', () => {
  test('an organization that is configured and not mirrored yet is known', async () => {
    const organization = { id: 'soon', baseUrl: 'https://soon.example.com', apiKey: { env: 'A' }, secret: { env: 'B' } }
    const { config } = aWorkplace([organization], { mirror })
    const ask = (org: string) => runCommand(exportCommand, ['--format', 'csv', '--config', config, '--org', org])

    expect(await ask('soon')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^The list of soon was never read/),
    })
    expect(await ask('son')).toMatchObject({ code: 2, stderr: expect.stringContaining('(did you mean "soon"?)') })
  })
})

test('with --excel, it is said where a sheet cannot hold all rows', async () => {
  tamper(
    mirror,
    `WITH RECURSIVE many(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM many WHERE value < 1048576)
     INSERT INTO customers (organization, id, name, first_seen_at, changed_at, last_run_id, updated_at)
     SELECT 'acme', printf('%08x-1000-4000-8000-000000000000', value), 'x', '2026-01-05', '2026-01-05', 1, '2026-01-05'
     FROM many`,
  )
  const { code, stderr } = await startCli(
    ['export', '--mirror', mirror, '--format', 'csv', '--excel', '-o', 'all.csv'],
    {
      cwd: temporaryFolder(),
    },
  ).ended

  expect(code).toBe(0)
  expect(stderr).toContain('! A sheet of a spreadsheet holds 1,048,575 of them')
})

describe('on a terminal', () => {
  test.each(['csv', 'jsonl'])('no value of a customer acts on it: %s', async (format) => {
    const open = await aMirror()
    const name = 'Red \u001B[31m\u009B2J\u0007 back\r\nnew line \u202Eesrever'
    await mirrorPages(open, [[aCustomer(1, { name })]])
    const { code, text } = await runOnScreen(exportCommand, ['--format', format, '--mirror', open.file], {
      columns: 4000,
    })

    expect(code).toBe(0)
    expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202e]/u)
    expect(text).toMatch(/Red \\u001b\[31m\\u009b2J\\u0007 back/)
  })
})
