import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { backupCommand, restoreCommand } from '../src/cli/backup.ts'
import { exportCommand } from '../src/cli/export.ts'
import { publishCommand } from '../src/cli/export.ts'
import { syncCommand } from '../src/cli/sync.ts'
import { PUBLIC_TABLES } from '../src/model/public-tables.ts'
import { night } from './store/nights.ts'
import { aCustomer, customerId, customers } from './support/builders.ts'
import { aMirror, rowsOf } from './support/mirror-file.ts'
import { runCommand } from './support/run-command.ts'
import { aSandbox, aWorkplace, organizationsOf } from './support/workplace.ts'

const PAGE = readFileSync(new URL('../docs/explain/privacy.md', import.meta.url), 'utf8')

test('docs/explain/privacy.md names every public table, with the columns that the dictionary calls personal', () => {
  const expected = PUBLIC_TABLES.map(({ name, columns }) => {
    const personal = columns.filter((column) => column.personal).map((column) => `\`${column.name}\``)
    return [`\`${name}\``, personal.length === 0 ? 'none' : personal.join(', ')]
  })

  expect(rowsBelow('table or view').map(([table, personal]) => [table, personal])).toEqual(expected)
})

test('it names every internal table too', async () => {
  const { file } = await aMirror()

  expect(internalNamed()).toEqual(internalIn(file))
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

test('files that hold customers have the modes that it says', async () => {
  const organizations = organizationsOf(await aSandbox({ customers: [12] }))
  const { folder, config, mirror } = aWorkplace(organizations)
  const at = (...path: string[]) => join(folder, ...path)
  await runCommand(syncCommand, ['--config', config])
  await runCommand(backupCommand, [at('backups', 'customers.db'), '--config', config])
  await runCommand(restoreCommand, [at('backups', 'customers.db'), '--config', config])
  await runCommand(exportCommand, ['--format', 'csv', '-o', at('customers.csv'), '--config', config])
  await runCommand(publishCommand, [at('copies', 'customers.db'), '--config', config])
  const replaced = readdirSync(at('data')).find((name) => name.startsWith('customers-replaced-')) ?? ''
  const modes = [
    ...[mirror, at('data'), at('data', replaced), at('backups'), at('backups', 'customers.db')],
    ...[at('customers.csv'), at('copies'), at('copies', 'customers.db')],
  ].map((path) => (statSync(path).mode & 0o777).toString(8))

  expect(modes).toEqual(['600', '700', '600', '700', '600', '600', '750', '440'])
})

/** The rows of the table of the page with this first heading. */
function rowsBelow(heading: string): string[][] {
  const [, table = ''] = PAGE.split(`\n| ${heading} |`)
  return [...(table.split('\n\n')[0] ?? '').matchAll(/^\| (.*) \|$/gm)]
    .map(([, cells = '']) => cells.split(' | '))
    .filter(([first = '']) => !first.startsWith('---'))
}

function internalNamed(): string[] {
  return rowsBelow('internal table')
    .flatMap(([names = '']) => [...names.matchAll(/`(\w+)`/g)].map(([, name = '']) => name))
    .toSorted()
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
