import { existsSync } from 'node:fs'
import { beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { removalsCommand } from '../../src/cli/removals.ts'
import { openMirror } from '../../src/store/mirror.ts'
import { customers, MINUTE_MS, START_MS } from '../support/builders.ts'
import { mirrorPages, rowsOf, tamper, valueOf } from '../support/mirror-file.ts'
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

test('show lists the customers of an organization by name, with the commands that decide', async () => {
  tamper(workplace.mirror, "UPDATE customers SET name = 'Zoë \u001b[31m' WHERE organization = 'acme' AND row_id = 1")
  const { code, stdout, stderr } = await removals('show', 'acme')

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const [heading, head, ...rows] = stdout.split('\n')
  expect(heading).toBe('Run 3 of acme holds back the removal of 50 customers:')
  expect(head).toMatch(/^name +username +email +absent since +id$/)
  expect(rows[0]).toMatch(/^Customer 10 +customer-10 +customer-10@example.com +2026-01-05 02:01 UTC +[0-9a-f-]{36}$/)
  expect(rows[49]).toMatch(String.raw`Zoë \u001b[31m`)
  expect(stdout).toContain(
    `\n  they are gone        customer-mirror removals approve acme --config ${workplace.config}\n`,
  )
})

test('show --json and --csv name the same customers, those of a run by its number', async () => {
  const { run, organization, customers: listed } = JSON.parse((await removals('show', '4', '--json')).stdout)
  const { code, stdout } = await removals('show', 'globex', '--csv')
  const [head, ...lines] = stdout.trimEnd().split('\r\n')

  expect({ code, run, organization }).toEqual({ code: 0, run: 4, organization: 'globex' })
  expect(head).toBe('id,name,username,email,absent_since')
  expect(listed).toHaveLength(60)
  expect(lines).toEqual(listed.map((customer: Record<string, string>) => Object.values(customer).join(',')))
})

test('at a terminal, the first names are shown and the person is asked; without one, --yes is', async () => {
  const questions: string[] = []
  const answering = (answer: string) =>
    runCommand(
      (io) => removalsCommand({ ...io, ask: (question) => Promise.resolve((questions.push(question), answer)) }),
      ['approve', 'acme', '--config', workplace.config],
    )

  expect(await removals('approve', 'acme')).toMatchObject({ code: 2, stderr: expect.stringContaining('add --yes') })
  expect(await answering('')).toMatchObject({ code: 0, stdout: expect.stringMatching(/\nNothing was changed\.\n$/) })
  expect(removed()).toBe(0)
  const { stdout } = await answering('y')

  expect(questions).toEqual(Array(2).fill('\nMark these 50 customers as removed? [y/N] '))
  expect(stdout.match(/@example\.com/g)).toHaveLength(20)
  expect(stdout).toContain('and 30 more customers: customer-mirror removals show acme')
  expect(removed()).toBe(50)
})

test('the number of an old alert says which run holds removals back now', async () => {
  const mirror = await openMirror(workplace.mirror)
  const removalsOf = { rule: { after: 2, maxShare: 0.1 }, confirmed: new Set<string>() }
  const ending = { proof: 'proven', reasons: [], removals: removalsOf } as const
  await mirrorPages(mirror, [customers(61, 100)], { organization: 'acme', atMs: START_MS + 2 * MINUTE_MS, ending })
  await mirror.close()

  const { code, stderr } = await removals('approve', '3', '--yes')

  expect(code).toBe(2)
  expect(stderr).toBe(
    "Run 3 holds no removals. Run 5 does now: 'customer-mirror removals show acme' lists its customers.\n",
  )
})

test.each(['3', '#3', 'acme'])('approve %s marks exactly those customers as removed', async (asked) => {
  expect(await removals('approve', asked, '--yes')).toEqual({
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
  expect(await removals('discard', '4', '--yes')).toEqual({
    code: 0,
    stdout: 'Run 4: 60 customers no longer held; they stay unchanged.\n',
    stderr: '',
  })

  expect(removed()).toBe(0)
  expect((await removals('list')).stdout).not.toContain('globex')
})

test.each([
  ['approve', '3', 'acme', 50],
  ['discard', '4', 'globex', 60],
])('with --json, %s prints one document', async (decision, run, organization, concerned) => {
  const { code, stdout } = await removals(decision, run, '--json', '--yes')

  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toEqual({
    schemaVersion: 1,
    run: Number(run),
    organization,
    decision,
    customers: concerned,
  })
})

test('after all decisions, there is nothing to list', async () => {
  await removals('approve', '3', '--yes')
  await removals('discard', '4', '--yes')

  expect(await removals('list')).toEqual({ code: 0, stdout: 'No removals are held back.\n', stderr: '' })
  expect(await removals('show', 'acme')).toEqual({
    code: 0,
    stdout: 'acme: no removals are held back.\n',
    stderr: '',
  })
  expect(JSON.parse((await removals('show', 'acme', '--json')).stdout)).toMatchObject({ run: null, customers: [] })
  expect(JSON.parse((await removals('list', '--json')).stdout)).toEqual({ schemaVersion: 1, removals: [] })
})

test.each(['approve', 'discard'])('a decided removal cannot be decided again: %s ends with 2', async (decision) => {
  await removals('approve', '3', '--yes')

  const { code, stdout, stderr } = await removals(decision, '3', '--yes')

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toBe("Run 3 holds no removals. 'customer-mirror removals list' lists the runs that do.\n")
  expect(removed()).toBe(50)
})

test.each(['1', '99'])('a run without held removals, such as %s, ends with 2', async (run) => {
  const stderr = expect.stringContaining(`Run ${run} holds no removals.`)
  expect(await removals('approve', run, '--yes')).toEqual({ code: 2, stdout: '', stderr })
  expect(removed()).toBe(0)
})

test('the program takes the options behind the subcommand, before its argument and after it', async () => {
  const folder = temporaryFolder()
  const config = workplace.config

  expect((await runCli(['removals', 'list', '-c', config], { cwd: folder })).stdout).toContain('globex')
  expect(await runCli(['removals', 'discard', '4', '--yes', '-c', config], { cwd: folder })).toMatchObject({ code: 0 })
  expect(await runCli(['removals', 'approve', '-c', config, '3', '--yes'], { cwd: folder })).toMatchObject({ code: 0 })
  expect(removed()).toBe(50)
})

test.each([
  ['approve', '0'],
  ['approve', 'many'],
  ['discard', '1.5'],
  ['show', '12345678901234567890'],
])('%s %s names no organization, is refused with 2, and nothing is changed', async (verb, asked) => {
  const { code, stdout, stderr } = await runCli(['removals', verb, asked], { cwd: workplace.folder })

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain(`unknown organization "${asked}"`)
  expect(removed()).toBe(0)
})

test.each([
  [['lits'], "unknown command 'lits'", '(Did you mean list?)'],
  [['aprove', '3'], "unknown command 'aprove'", 'customer-mirror removals --help'],
  [['3'], "unknown command '3'", 'customer-mirror removals --help'],
  [['--json', 'list'], "unknown option '--json'", ''],
  [['list', '3'], "too many arguments for 'list'", ''],
  [[], 'Usage: customer-mirror removals [options] [command]', 'approve [options] <organization>'],
])('removals %j ends with 2, changes nothing, and says where to read on', async (args, ...said) => {
  const { code, stdout, stderr } = await runCli(['removals', ...args], { cwd: workplace.folder })

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  for (const part of said) expect(stderr).toContain(part)
  expect(removed()).toBe(0)
})

test.each(['approve', 'discard'])('%s ends with 7 where there is no mirror, and makes none', async (decision) => {
  const other = aWorkplace([{ id: 'acme', baseUrl: 'http://127.0.0.1:1/api/v1', apiKey: 'made-up', secret: 'made-up' }])

  const { code, stdout, stderr } = await runCommand(removalsCommand, [decision, '1', '--yes', '--config', other.config])

  expect({ code, stdout }).toEqual({ code: 7, stdout: '' })
  expect(stderr).toContain('there is no mirror yet')
  expect(existsSync(other.mirror)).toBe(false)
})
