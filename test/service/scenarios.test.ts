import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { sandboxCommand } from '../../src/cli/sandbox.ts'
import { UsageError } from '../../src/errors/errors.ts'
import { type SandboxOptions, startSandbox } from '../../src/service/sandbox.ts'
import { SCENARIOS } from '../../src/service/scenarios/scenarios.ts'
import { runCommand } from '../support/run-cli.ts'
import { someOf } from '../support/seeds.ts'
import { type Answer, ask, played } from './a-sandbox.ts'

/** What the command prints, which is stopped as soon as it has started. */
async function output(...options: string[]): Promise<string> {
  const { stdout, stderr } = await runCommand(sandboxCommand, options, { signal: AbortSignal.abort() })
  return stdout + stderr
}

test('the command lists each scenario once, with one sentence, plays the one that is named, and refuses an unknown one with a suggestion', async () => {
  const [, ...lines] = (await output('--list-scenarios')).trimEnd().split('\n')
  expect(lines.map((line) => line.split(' ')[0])).toEqual(SCENARIOS.map(({ name }) => name))
  expect(new Set(SCENARIOS.map(({ name }) => name)).size).toBe(SCENARIOS.length)
  for (const line of lines) expect(line).toMatch(/^[a-z0-9-]+ {2,}[A-Z].*\.$/)
  expect(await output('--port', '0', '--customers', '3', '--scenario', 'delete')).toContain('plays the scenario delete')
  await expect(startSandbox({ scenario: 'insert-delte' })).rejects.toThrow(UsageError)
  expect(await output('--scenario', 'insert-delte')).toContain(
    `There is no scenario "insert-delte" (did you mean "insert-delete"?). 'customer-mirror sandbox --list-scenarios'`,
  )
})

/** Pages and their sizes, asked for one after the other, 150 ms apart, and the last two after an hour. */
const ASKED = [...[1, 2, 3, 4, 5, 6, 6, 10, 11].map((n) => [n, 100]), [2, 60], [11, 50], [1, 100], [1, 100]] as const

const HEAD = `# What each scenario of the sandbox answers

A list of 1,000 customers is asked for ${ASKED.map(([page, size]) => `page ${page} of ${size}`).join(', ')}. An answer is how many rows it has,
with those that stand elsewhere than at the start, have other fields, or are new or without an id. Behind it stands what else differs from the list at the start.
Last come the customers of the list, those who lived throughout, and those of them who kept their place. Written by
\`npm run test:deep -- test/service/scenarios.test.ts --update\`; do not edit.

| scenario |${ASKED.map((_, index) => ` ${index + 1} |`).join('')} list | lived | stayed |
| --- |${' --- |'.repeat(ASKED.length + 3)}
`

test('each scenario answers as it says', async () => {
  const written = readFileSync(new URL('scenarios.md', import.meta.url), 'utf8').split('\n')
  const asked = someOf(SCENARIOS, { every: 12 })
  const rows: string[] = []
  for (const scenario of SCENARIOS) {
    const row = asked.includes(scenario) ? undefined : written.find((each) => each.startsWith(`| \`${scenario.name}\``))
    rows.push(row ?? (await rowOf(scenario.name)))
  }
  await expect(`${HEAD}${rows.join('\n')}\n`).toMatchFileSnapshot('scenarios.md')
})

async function rowOf(name: string): Promise<string> {
  let nowMs = Date.UTC(2026, 0, 5, 2)
  const { get, truth, acme } = await played(name, { dripMs: 1, now: () => nowMs })
  const places = new Map(acme.customers.map((each, place) => [each.id, { place, text: JSON.stringify(each) }]))
  const mark = truth.mark()
  const cells: string[] = []
  for (const [index, [page, size]] of ASKED.entries()) {
    nowMs += index === ASKED.length - 2 ? 3_600_000 : 150
    const got = await get(page, size).catch(async (error: Error) => {
      // Else the next request might be sent into the connection that is being closed, and count without an answer.
      await sleep(100)
      // A request into a connection that the server has left, as after some seconds, never arrives.
      return error.message === 'terminated' ? undefined : get(page, size)
    })
    cells.push(got === undefined ? 'cut off' : described(got, { page, size, places }))
  }
  const counts = [acme.list.rows().length, truth.lived(mark).size, truth.stayed(mark).size]
  return `| ${[`\`${name}\``, ...cells, ...counts].join(' | ')} |`
}

type Places = ReadonlyMap<string, { place: number; text: string }>

function described(
  { status, headers, text, data, meta }: Answer,
  { page, size, places }: { page: number; size: number; places: Places },
): string {
  if (status !== 200) return String(status)
  if (!text.startsWith('{')) return 'HTML'
  const known = data.map((row) => ({ row, start: places.get(String(Object(row).id).toLowerCase()) }))
  const count = (isSo: (one: (typeof known)[number], index: number) => boolean) => known.filter(isSo).length
  const facts: [what: string, count: number, usual: number][] = [
    ['elsewhere', count(({ start }, index) => start !== undefined && start.place !== (page - 1) * size + index), 0],
    ['changed', count(({ row, start }) => start !== undefined && start.text !== JSON.stringify(row)), 0],
    ['new', count(({ start }) => start === undefined), 0],
    ['in all', meta.total, places.size],
    ['a page', meta.per_page, size],
    ['as page', meta.current_page, page],
    ['as last', meta.last_page, Math.ceil(places.size / size)],
    ['s old', Number(headers.get('Age') ?? 0), 0],
  ]
  const odd = facts.flatMap(([what, number, usual]) => (number === usual ? [] : [`${number} ${what}`]))
  return [data.length, ...odd].join(', ')
}

test('slow-drip: a sandbox that is closed does not drip on', async () => {
  let status = 0
  const intercept: SandboxOptions['intercept'] = async (context, next) => {
    await next()
    status = context.res.status
  }
  const { get, sandbox } = await played('slow-drip', { dripMs: 3_600_000, intercept })
  const dripping = get(6)
  // On a busy machine it is closed before the head of the answer has arrived.
  const failure = expect(dripping).rejects.toThrow(/^(terminated|fetch failed)$/)
  await expect.poll(() => status).toBe(200)
  await sandbox.close()
  await failure
})

test('shared-throttle: all organizations have one budget, unless they have one of their own', async () => {
  const { sandbox, get } = await played('shared-throttle', { customers: [5, 5], now: () => 0 })
  for (let turn = 1; turn <= 5; turn += 1) expect((await get(1)).status).toBe(200)
  const refused = await get(1)
  expect([refused.status, refused.headers.get('Retry-After')]).toEqual([429, '1'])
  const [, other] = sandbox.organizations
  expect(other && (await ask(other, '/customers', { atMs: 0 })).status).toBe(429)
  const { get: ofItsOwn } = await played('shared-throttle', { rateLimits: [{ requests: 77, windowMs: 1000 }] })
  expect((await ofItsOwn(1)).headers.get('X-RateLimit-Limit')).toBe('77')
})

test('mixed-types: each kind of odd record is sent, and ids that are not sent do not count as lost', async () => {
  const { get, truth } = await played('mixed-types')
  const pages = await Promise.all(Array.from({ length: 10 }, (_, index) => get(index + 1)))
  const text = pages.map((page) => page.text).join('')
  const kinds = [
    ...[/"phone":\d/, /"loyalty_tier":"gold"/, /"company_name":null/, /"id":"[^"a-f]*[A-F][^"]*"/],
    ...[/"created_at":"\d{4}-\d\d-\d\d \d/, /\+00:00"/, /"some time in spring"/, /"created_at":\d/, /"email":""/],
    ...[/\\ud83d"/, /@localhost"/],
  ]
  for (const kind of kinds) expect(text).toMatch(kind)
  const records = pages.flatMap(({ data }) => data.map((record) => Object.keys(Object(record))))
  expect(records.filter((fields) => !fields.includes('id'))).toHaveLength(20)
  expect(truth.listed()).toEqual(new Set(pages.flatMap(({ ids }) => ids.map((id) => id.toLowerCase()))))
})
