import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { PUBLIC_TABLES } from '../src/model/public-tables.ts'
import { night } from './store/nights.ts'
import { aCustomer, customerId, customers } from './support/builders.ts'
import { aMirror, rowsOf } from './support/mirror-file.ts'

const PAGE = readFileSync(new URL('../docs/explain/privacy.md', import.meta.url), 'utf8')

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
  const mirror = await aMirror()
  const list = [
    aCustomer(1, { extra_field: 'trace of a customer' }),
    ...customers(2, 30),
    aCustomer(31, { email: ['trace'] }),
  ]
  await night(mirror, 0, list)
  await night(mirror, 1, list.slice(1))
  await night(mirror, 2, [...list.slice(2), aCustomer(40, { name: 'Trace' })])
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
