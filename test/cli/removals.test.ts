import { beforeEach, expect, test } from 'vitest'
import { removalsCommand } from '../../src/cli/removals.ts'
import { openMirror } from '../../src/store/mirror.ts'
import { fourNights, night } from '../store/nights.ts'
import { customers } from '../support/builders.ts'
import { aRecord, html, list, type Reply } from '../support/fault-server.ts'
import { aPlayedFile, rowsOf, tamper, valueOf } from '../support/mirror-file.ts'
import { failing, runCommand } from '../support/run-cli.ts'
import { anAwayOrganization, aFaultServer, aWorkplace, organizationAt, type Workplace } from '../support/workplace.ts'

let workplace: Workplace

beforeEach(async () => {
  workplace = aWorkplace(['acme', 'globex'].map((id) => anAwayOrganization(id)))
  await aPlayedFile(fourNights, workplace.mirror)
})

const removals = (line: string) => workplace.run(`removals ${line} --config ${workplace.config}`)
const json = (line: string) => workplace.json(`removals ${line}`)
const removed = () => valueOf(workplace.mirror, 'SELECT count(*) FROM customers WHERE removed_at IS NOT NULL')

test('the runs that hold removals back are listed, newest first, until they are decided; with --json a decision is one document', async () => {
  const { code, stdout, stderr } = await removals('list')

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/\n#4 +globex +60 .*\n#3 +acme +50 .*\n$/)
  expect(await json('list')).toEqual({
    schemaVersion: 1,
    removals: [
      { run: 4, organization: 'globex', held: 60, at: '2026-01-06T02:00:00.000Z' },
      { run: 3, organization: 'acme', held: 50, at: '2026-01-06T02:00:00.000Z' },
    ],
  })

  const document = { schemaVersion: 1, run: 4, organization: 'globex', decision: 'discard', customers: 60 }
  expect(await json('discard 4 --yes')).toEqual(document)
  await removals('discard acme --yes')

  expect(removed()).toBe(0)
  expect((await json('list')).removals).toEqual([])
  expect(await json('show acme')).toMatchObject({ run: null, customers: [] })
})

test('show lists the customers of an organization by name, with the commands that decide; --json and --csv name the same, those of a run by its number', async () => {
  tamper(workplace.mirror, "UPDATE customers SET name = 'Zoë \u001b[31m' WHERE organization = 'acme' AND row_id = 1")
  const { code, stdout, stderr } = await removals('show acme')

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout.match(/^[0-9a-f-]{36} +(Customer \d+|Zoë \\u001b\[31m) +/gm)).toHaveLength(50)
  expect(stdout).toContain(`  customer-mirror removals approve acme --config ${workplace.config}\n`)

  const { run, organization, customers: listed } = await json('show 4')
  const csv = (await removals('show globex --csv')).stdout.trimEnd().split('\r\n')
  expect({ run, organization, listed }).toMatchObject({ run: 4, organization: 'globex', listed: { length: 60 } })
  const lines = listed.map((customer: Record<string, string>) => Object.values(customer).join(','))
  expect(csv).toEqual(['id,name,username,email,absent_since', ...lines])
})

test('at a terminal, the first names are shown and the person is asked; without one, --yes is', async () => {
  const questions: string[] = []
  const answering = (answer: string) =>
    runCommand(
      (io) => removalsCommand({ ...io, ask: (question) => Promise.resolve((questions.push(question), answer)) }),
      ['approve', 'acme', '--config', workplace.config],
    )

  expect(await removals('approve acme')).toMatchObject(failing(2, 'add --yes'))
  expect(await answering('')).toMatchObject({ code: 0 })
  expect(removed()).toBe(0)
  const { stdout } = await answering('y')

  expect(questions).toHaveLength(2)
  expect(stdout.match(/@example\.com/g)).toHaveLength(20)
  expect(removed()).toBe(50)
})

test('the number of an old alert says which run holds removals back now', async () => {
  const mirror = await openMirror(workplace.mirror)
  await night(mirror, 2, customers(61, 100))
  await mirror.close()

  const said = `Run 3 holds no removals. Run 5 does now: 'customer-mirror removals show acme --config ${workplace.config}' lists its customers.\n`
  expect(await removals('approve 3 --yes')).toMatchObject(failing(2, said))
})

test.each(['#3', 'acme'])('approve %s marks exactly those customers as removed, once', async (asked) => {
  expect(await removals(`approve ${asked} --yes`)).toMatchObject({ code: 0, stderr: '' })

  const gone = 'SELECT organization, count(*) AS n FROM customers WHERE removed_at IS NOT NULL GROUP BY 1'
  expect(rowsOf(workplace.mirror, gone)).toEqual([{ organization: 'acme', n: 50 }])
  expect((await removals('list')).stdout).not.toContain('acme')
  for (const decision of ['approve', 'discard']) expect((await removals(`${decision} 3 --yes`)).code).toBe(2)
})

test('a night that holds removals back ends with 3, and every sync warns until they are decided', async () => {
  const replies: Record<'acme' | 'globex', Reply> = {
    acme: list(90),
    globex: list(3, { envelope: { data: [901, 902, 903].map(aRecord) } }),
  }
  const acme = await aFaultServer((response, request) => replies.acme(response, request))
  const globex = await aFaultServer((response, request) => replies.globex(response, request))
  workplace = aWorkplace([organizationAt(acme), organizationAt(globex, { id: 'globex' })], {
    defaults: { scan: 'chain', maxWait: '0s' },
  })
  const run = (line: string) => workplace.run(`${line} --config ${workplace.config}`)
  await run('sync')
  replies.acme = list(40)
  const dry = await run('sync acme --dry-run')
  const held = await run('sync acme --json')
  replies.acme = html(500)
  const later = [await run('sync globex'), await run('sync acme'), await run('sync --dry-run')]
  const before = await run('runs show 3')
  await run('removals discard 3 --yes')

  expect(dry).toMatchObject({ code: 0, stderr: '' })
  expect(JSON.parse(held.stdout).runs).toMatchObject([{ held: 50, proof: 'proven', runId: 3 }])
  expect([held, ...later].map(({ code }) => code)).toEqual([3, 0, 5, 3])
  for (const { stderr } of [held, ...later])
    expect(stderr).toContain(`  customer-mirror removals show acme --config ${workplace.config}\n`)
  expect(before.stdout).toContain('customer-mirror removals approve acme')
  expect((await run('runs show 3')).stdout).not.toContain('customer-mirror removals')
  replies.acme = list(40)
  expect(await run('sync')).toMatchObject({ code: 0, stderr: '' })
})
