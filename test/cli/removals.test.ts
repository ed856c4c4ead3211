import { existsSync } from 'node:fs'
import { beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { removalsCommand } from '../../src/cli/removals.ts'
import { openMirror } from '../../src/store/mirror.ts'
import { customers, MINUTE_MS, START_MS } from '../support/builders.ts'
import { mirrorPages, rowsOf, valueOf } from '../support/mirror-file.ts'
import { runCli } from '../support/run-cli.ts'
import { runCommand } from '../support/run-command.ts'
import { temporaryFolder } from '../support/temp-folder.ts'
import { aWorkplace, type Workplace } from '../support/workplace.ts'

const document = z.strictObject({
  schemaVersion: z.literal(1),
  removals: z.array(z.strictObject({ run: z.int(), organization: z.string(), held: z.int(), at: z.iso.datetime() })),
})

let workplace: Workplace

/** Runs 3 and 4: acme lost fifty of its hundred customers at once, globex sixty. */
beforeEach(async () => {
  const organizations = ['acme', 'globex'].map((id) => {
    return { id, baseUrl: 'http://127.0.0.1:1/api/v1', apiKey: `key-of-${id}`, secret: 'made-up' }
  })
  workplace = aWorkplace(organizations)
  const mirror = await openMirror(workplace.mirror)
  const removals = { rule: { after: 2, maxShare: 0.1 }, confirmed: new Set<string>() }
  const ending = { proof: 'proven', reasons: [], removals } as const
  for (const organization of ['acme', 'globex'])
    await mirrorPages(mirror, [customers(1, 100)], { organization, ending })
  const atMs = START_MS + MINUTE_MS
  await mirrorPages(mirror, [customers(51, 100)], { organization: 'acme', atMs, ending })
  await mirrorPages(mirror, [customers(61, 100)], { organization: 'globex', atMs, ending })
  await mirror.close()
})

const removals = (...args: string[]) => runCommand(removalsCommand, [...args, '--config', workplace.config])
const removed = () => valueOf(workplace.mirror, 'SELECT count(*) FROM customers WHERE removed_at IS NOT NULL')

test('the runs that hold removals back are listed, newest first', async () => {
  const { code, stdout, stderr } = await removals('list')

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const [head, ...rows] = stdout.trimEnd().split('\n')
  expect(head).toMatch(/^run +organization +held +at/)
  expect(rows).toHaveLength(2)
  expect(rows[0]).toMatch(/^#4 +globex +60 +2026-01-05 02:01 UTC/)
  expect(rows[1]).toMatch(/^#3 +acme +50 +2026-01-05 02:01 UTC/)
})

test('--json lists them as one document', async () => {
  const { removals: listed } = document.parse(JSON.parse((await removals('list', '--json')).stdout))

  expect(listed).toEqual([
    { run: 4, organization: 'globex', held: 60, at: '2026-01-05T02:01:00.000Z' },
    { run: 3, organization: 'acme', held: 50, at: '2026-01-05T02:01:00.000Z' },
  ])
})

test.each(['3', '#3'])('approve %s marks exactly those customers as removed', async (run) => {
  expect(await removals('approve', run)).toEqual({
    code: 0,
    stdout: 'Run 3: 50 customers marked as removed.\n',
    stderr: '',
  })

  expect(rowsOf(workplace.mirror, 'SELECT DISTINCT organization FROM customers WHERE removed_at IS NOT NULL')).toEqual([
    { organization: 'acme' },
  ])
  expect(removed()).toBe(50)
  expect((await removals('list')).stdout).not.toContain('acme')
})

test('discard forgets the removals, and no customer is removed', async () => {
  expect(await removals('discard', '4')).toEqual({
    code: 0,
    stdout: 'Run 4: 60 customers no longer held; they stay unchanged.\n',
    stderr: '',
  })

  expect(removed()).toBe(0)
  expect((await removals('list')).stdout).not.toContain('globex')
})

test.each([
  ['approve', '3', 50],
  ['discard', '4', 60],
])('with --json, %s prints one document', async (decision, run, concerned) => {
  const { code, stdout } = await removals(decision, run, '--json')

  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toEqual({ schemaVersion: 1, run: Number(run), decision, customers: concerned })
})

test('after all decisions, there is nothing to list', async () => {
  await removals('approve', '3')
  await removals('discard', '4')

  expect(await removals('list')).toEqual({ code: 0, stdout: 'No removals are held back.\n', stderr: '' })
  expect(JSON.parse((await removals('list', '--json')).stdout)).toEqual({ schemaVersion: 1, removals: [] })
})

test.each(['approve', 'discard'])('a decided removal cannot be decided again: %s ends with 2', async (decision) => {
  await removals('approve', '3')

  const { code, stdout, stderr } = await removals(decision, '3')

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toBe("Run 3 holds no removals. 'customer-mirror removals list' lists the runs that do.\n")
  expect(removed()).toBe(50)
})

test.each(['1', '99'])('a run without held removals, such as %s, ends with 2', async (run) => {
  const stderr = expect.stringContaining(`Run ${run} holds no removals.`)
  expect(await removals('approve', run)).toEqual({ code: 2, stdout: '', stderr })
  expect(removed()).toBe(0)
})

test('the program takes the options behind the subcommand, before its argument and after it', async () => {
  const folder = temporaryFolder()
  const config = workplace.config

  expect((await runCli(['removals', 'list', '-c', config], { cwd: folder })).stdout).toContain('globex')
  expect(await runCli(['removals', 'discard', '4', '-c', config], { cwd: folder })).toMatchObject({ code: 0 })
  expect(await runCli(['removals', 'approve', '-c', config, '3'], { cwd: folder })).toMatchObject({ code: 0 })
  expect(removed()).toBe(50)
})

test.each([
  ['approve', '0'],
  ['approve', 'many'],
  ['discard', '1.5'],
  ['discard', '12345678901234567890'],
])('%s %s is refused with 2, and nothing is changed', async (decision, number) => {
  const { code, stdout, stderr } = await runCli(['removals', decision, number], { cwd: workplace.folder })

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain('It must be the number of a run, such as 12.')
  expect(removed()).toBe(0)
})

test.each([
  [['lits'], "unknown command 'lits'", '(Did you mean list?)'],
  [['aprove', '3'], "unknown command 'aprove'", 'customer-mirror removals --help'],
  [['3'], "unknown command '3'", 'customer-mirror removals --help'],
  [['--json', 'list'], "unknown option '--json'", ''],
  [['list', '3'], "too many arguments for 'list'", ''],
  [[], 'Usage: customer-mirror removals [options] [command]', 'approve [options] <run>'],
])('removals %j ends with 2, changes nothing, and says where to read on', async (args, ...said) => {
  const { code, stdout, stderr } = await runCli(['removals', ...args], { cwd: workplace.folder })

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  for (const part of said) expect(stderr).toContain(part)
  expect(removed()).toBe(0)
})

test.each(['approve', 'discard'])('%s ends with 7 where there is no mirror, and makes none', async (decision) => {
  const other = aWorkplace([{ id: 'acme', baseUrl: 'http://127.0.0.1:1/api/v1', apiKey: 'made-up', secret: 'made-up' }])

  const { code, stdout, stderr } = await runCommand(removalsCommand, [decision, '1', '--config', other.config])

  expect({ code, stdout }).toEqual({ code: 7, stdout: '' })
  expect(stderr).toContain('there is no mirror yet')
  expect(existsSync(other.mirror)).toBe(false)
})
