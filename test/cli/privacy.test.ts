import { createHmac } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { PUBLIC_TABLES } from '../../src/model/public-tables.ts'
import { aMirrorOf } from '../store/nights.ts'
import { aCustomer, customerId, customers } from '../support/builders.ts'
import { KEY, PEOPLE, PHONE, privacy } from '../support/commands.ts'
import { refusal } from '../support/fault-server.ts'
import { aMirror, rowsOf, valueOf } from '../support/mirror-file.ts'
import { storedText } from '../support/mirror-reader.ts'
import { aFaultServer, aWorkplace, organizationAt } from '../support/workplace.ts'

test('a policy in the configuration hides, check shows it, and a key that is not there stops the run before it reads', async () => {
  const server = await aFaultServer(PEOPLE)
  const { run: runWith, mirror } = aWorkplace([organizationAt(server, { privacy })])
  const run = (line: string, env: Record<string, string> = { PRIVACY_KEY: KEY }) => runWith(line, { env })

  const synced = await run('sync --json')
  expect(synced.code).toBe(0)
  expect(synced.stdout + synced.stderr).not.toMatch(/unmistakable|made-up key of a test/)
  const hash = `hmac:${createHmac('sha256', KEY).update(PHONE).digest('hex')}`
  expect(rowsOf(mirror, 'SELECT DISTINCT phone, address FROM customers')).toEqual([{ phone: hash, address: null }])
  expect((await run('check')).stdout).toMatch(/✔ privacy of acme: drops address; hashes phone\n✔ acme: answered/)
  const { stdout } = await run('check', { PRIVACY_KEY: `${KEY}, but another` })
  expect(stdout).toContain('! privacy of acme: the key is not the one of the stored hashes: the next run replaces them')

  const requests = server.requests.length
  for (const env of [{}, { PRIVACY_KEY: '' }, { PRIVACY_KEY: 'short' }]) {
    const failed = await run('sync --json', env)
    expect(failed.code).toBe(2)
    expect(failed.stdout + failed.stderr).toContain('the privacy key of organization acme')
  }
  expect((await run('check', {})).stdout).toMatch(/✖ privacy of acme: .* is not set: export it/)
  expect(valueOf(mirror, 'SELECT COUNT(*) FROM customers WHERE phone = ?', hash)).toBe(3)
  expect(valueOf(mirror, `SELECT error_code FROM runs ORDER BY id DESC LIMIT 1`)).toBe('config')
  // Only `check` asked the service.
  expect(server.requests.length - requests).toBe(1)
  expect(storedText(mirror)).not.toMatch(/unmistakable|made-up key of a test/)
})

test('what the service says about a refusal is not stored where values are hidden, and taken out of earlier runs', async () => {
  const refusing = refusal(404, 'bad_customer', `The phone ${PHONE} cannot be shown.`)
  const server = await aFaultServer(refusing, refusing, PEOPLE)
  const { run, mirror, config } = aWorkplace([organizationAt(server)])
  const errors = () => rowsOf(mirror, 'SELECT error FROM runs ORDER BY id').map(({ error }) => error)
  await run('sync')
  expect(errors()).toEqual([expect.stringContaining(PHONE)])
  const text = readFileSync(config, 'utf8')
  writeFileSync(config, text.replace('  - id: acme', '  - privacy: { drop: [phone, address] }\n    id: acme'))
  const { stdout, stderr } = await run('sync')

  expect(stdout + stderr).not.toContain('unmistakable')
  expect((await run('sync')).code).toBe(0)
  const shown = expect.stringMatching(/answered 404\. There is no/)
  expect(errors()).toEqual([shown, shown, null])
  expect(readFileSync(mirror, 'latin1')).not.toContain('unmistakable')
})

const PAGE = readFileSync(new URL('../../docs/explain/privacy.md', import.meta.url), 'utf8')

test('docs/explain/privacy.md names every table, with the columns that the dictionary calls personal', async () => {
  const expected = PUBLIC_TABLES.map(({ name, columns }) => {
    const personal = columns.filter((column) => column.personal).map((column) => `\`${column.name}\``)
    return [`\`${name}\``, personal.length === 0 ? 'none' : personal.join(', ')]
  })
  const internal = rowsBelow('internal table').flatMap(([names = '']) => names.match(/(?<=`)\w+(?=`)/g) ?? [])

  expect(rowsBelow('table or view').map(([table, personal]) => [table, personal])).toEqual(expected)
  expect(internal.toSorted()).toEqual(internalIn((await aMirror()).file))
})

test('no internal table holds a value of a customer, as it says', async () => {
  const list = [
    aCustomer(1, { extra_field: 'trace of a customer' }),
    ...customers(2, 30),
    aCustomer(31, { email: ['trace'] }),
  ]
  const mirror = await aMirrorOf(list, list.slice(1), [...list.slice(2), aCustomer(40, { name: 'Trace' })])
  await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: 0 })
  const contents = internalIn(mirror.file).flatMap((table) =>
    rowsOf(mirror.file, `SELECT * FROM ${table}`).flatMap((row) => Object.values(row).map(asText)),
  )

  expect(contents.length).toBeGreaterThan(10)
  expect(contents.filter((text) => /customer-|Example|\+1 555|trace/i.test(text))).toEqual([])
  expect(contents.filter((text) => text.includes(customerId(2)))).toEqual([])
})

/** The rows of the table of the page with this first heading. */
function rowsBelow(heading: string): string[][] {
  const [, table = ''] = PAGE.split(`\n| ${heading} |`)
  return [...(table.split('\n\n')[0] ?? '').matchAll(/^\| (.*) \|$/gm)]
    .map(([, cells = '']) => cells.split(' | '))
    .filter(([first = '']) => !first.startsWith('---'))
}

function internalIn(file: string): string[] {
  const isPublic = new Set(PUBLIC_TABLES.map(({ name }) => name))
  return rowsOf(file, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'`)
    .map(({ name }) => String(name))
    .filter((name) => !isPublic.has(name))
    .toSorted()
}

function asText(value: unknown): string {
  return Buffer.isBuffer(value) ? value.toString('latin1') : String(value)
}
