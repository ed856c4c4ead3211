import { beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { rejectsCommand } from '../../src/cli/rejects.ts'
import { runsCommand } from '../../src/cli/runs.ts'
import { syncCommand } from '../../src/cli/sync.ts'
import { html, list } from '../support/fault-server.ts'
import { runCli } from '../support/run-cli.ts'
import { runCommand } from '../support/run-command.ts'
import { aFaultServer, aWorkplace, organizationAt, type Workplace } from '../support/workplace.ts'

const runsDocument = z.object({
  schemaVersion: z.literal(1),
  runs: z.array(
    z.object({
      id: z.int(),
      organization: z.string(),
      status: z.string(),
      received: z.int(),
      trigger: z.string(),
      startedAt: z.iso.datetime(),
    }),
  ),
})
const rejectsDocument = z.strictObject({
  schemaVersion: z.literal(1),
  rejects: z.array(
    z.strictObject({
      organization: z.string(),
      run: z.int(),
      recordId: z.string().nullable(),
      page: z.int(),
      position: z.int(),
      payload: z.unknown(),
      reasons: z.array(z.strictObject({ field: z.string(), message: z.string() })),
      seenAt: z.iso.datetime(),
    }),
  ),
})

const SOME_ID = '10000000-0000-4000-8000-000000000001'
const NO_ID = { name: 'Nobody Fictional', email: 'nobody@example.com' }
const BAD_FIELD = { id: SOME_ID, name: ['Two', 'Names'] }

let workplace: Workplace

/** acme: a complete run, then a failed one. globex: a run with two rejects. */
beforeEach(async () => {
  const acme = await aFaultServer(list(3), html(500))
  const globex = await aFaultServer(
    list(4, {
      envelope: { data: [NO_ID, BAD_FIELD, ...['2', '3'].map((last) => ({ id: SOME_ID.replace(/1$/, last) }))] },
    }),
  )
  workplace = aWorkplace([organizationAt(acme), organizationAt(globex, { id: 'globex' })], {
    defaults: { maxWait: '0s' },
  })
  for (const id of ['acme', 'globex', 'acme']) await runCommand(syncCommand, [id, '--config', workplace.config])
})

const runs = (...args: string[]) => runCommand(runsCommand, [...args, '--config', workplace.config])
const rejects = (...args: string[]) => runCommand(rejectsCommand, [...args, '--config', workplace.config])

test('runs lists the latest runs, newest first', async () => {
  const { code, stdout } = await runs()

  expect(code).toBe(0)
  const [head, ...rows] = stdout.trimEnd().split('\n')
  expect(head).toMatch(/^run +started \(UTC\) +organization +status/)
  expect(rows.map((row) => row.slice(0, 2))).toEqual(['#3', '#2', '#1'])
  expect(rows[0]).toMatch(/ acme +failed: server-error +0 /)
  expect(rows[1]).toMatch(/ globex +complete +4 +2 +0 +0 +2 /)
})

test('runs --json contains every number of the report, and the trigger of the run', async () => {
  const { runs: listed } = runsDocument.parse(JSON.parse((await runs('--json')).stdout))

  expect(
    listed.map(({ id, organization, status, received, trigger }) => [id, organization, status, received, trigger]),
  ).toEqual([
    [3, 'acme', 'failed', 0, 'sync'],
    [2, 'globex', 'complete', 4, 'sync'],
    [1, 'acme', 'complete', 3, 'sync'],
  ])
})

test('runs can be limited to one organization, and to a number', async () => {
  const ids = async (...args: string[]) =>
    runsDocument.parse(JSON.parse((await runs('--json', ...args)).stdout)).runs.map(({ id }) => id)

  expect(await ids('acme')).toEqual([3, 1])
  expect(await ids('--limit', '2')).toEqual([3, 2])
  expect(await ids('acme', '--limit', '1')).toEqual([3])
})

test('rejects lists the records that could not be kept, with the reasons', async () => {
  const { code, stdout } = await rejects()

  expect(code).toBe(0)
  expect(stdout).toMatch(/^globex +\(no readable id\) +#2 +1 +0 .* id must be a UUID$/m)
  expect(stdout).toMatch(new RegExp(`^globex +${SOME_ID} +#2 +1 +1 .* name must be text$`, 'm'))
  expect(stdout).not.toContain('Fictional')
})

test('rejects --json contains the records as received', async () => {
  const { rejects: listed } = rejectsDocument.parse(JSON.parse((await rejects('globex', '--json')).stdout))

  expect(listed.map(({ recordId, position, payload }) => [recordId, position, payload])).toEqual([
    [null, 0, NO_ID],
    [SOME_ID, 1, BAD_FIELD],
  ])
})

test('rejects --json writes out what would act on a terminal, and means the same', async () => {
  const record = { name: 'a\u009b31m\u202e\u2028\u200b\n\u001b[31m' }
  const service = await aFaultServer(list(1, { envelope: { data: [record] } }))
  const { config } = aWorkplace([organizationAt(service)])
  await runCommand(syncCommand, ['--config', config])

  const { stdout } = await runCommand(rejectsCommand, ['--json', '--config', config])

  expect(stdout).toMatch(/^[\x20-\x7e\n]+$/)
  expect(rejectsDocument.parse(JSON.parse(stdout)).rejects[0]?.payload).toEqual(record)
})

test('rejects says on standard error where there are more than it lists, unless it was asked for a number', async () => {
  const records = Array.from({ length: 51 }, (_, number) => ({ ...NO_ID, name: `Nobody ${number}` }))
  const service = await aFaultServer(list(51, { envelope: { data: records } }))
  const { config } = aWorkplace([organizationAt(service)])
  await runCommand(syncCommand, ['--config', config])
  const listed = async (...args: string[]) => {
    const { stdout, stderr } = await runCommand(rejectsCommand, ['--json', '--config', config, ...args])
    return [rejectsDocument.parse(JSON.parse(stdout)).rejects.length, stderr]
  }

  expect(await listed()).toEqual([50, 'These are the newest 50. For more of them use --limit.\n'])
  expect(await listed('--limit', '50')).toEqual([50, ''])
  expect(await listed('--limit', '60')).toEqual([51, ''])
})

test('an organization without rejects has none to list', async () => {
  expect(await rejects('acme')).toEqual({ code: 0, stdout: 'No open rejects.\n', stderr: '' })
})

test.each([
  ['runs', runs],
  ['rejects', rejects],
])('%s of an unknown organization end with 2, with a suggestion', async (_, command) => {
  const { code, stdout, stderr } = await command('globx')

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain('did you mean "globex"?')
})

test.each(['0', '-3', 'many', '1.5'])('--limit %s is refused', async (limit) => {
  const { code, stderr } = await runCli(['runs', `--limit=${limit}`], { cwd: workplace.folder })

  expect(code).toBe(2)
  expect(stderr).toContain('It must be a whole number, at least 1.')
})
