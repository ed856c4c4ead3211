import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { MANIFEST } from '../../src/copies/build-copy.ts'
import { PUBLIC_TABLES, type PublicTable } from '../../src/model/public-tables.ts'
import { aMirror, rowsOf } from '../support/mirror-file.ts'
import { aMirrorOfNights, aPlan, publishAll } from '../support/publishing.ts'

test('the mirror has the dictionary as a table, column by column in order, and declares which columns of tables are not NULL', async () => {
  const { file } = await aMirror()
  const described = PUBLIC_TABLES.flatMap(({ name, columns }) =>
    columns.map(({ name: column, nullable, personal, ...same }) => {
      const told = { nullable: Number(nullable), personal: Number(personal) }
      return { table_name: name, column_name: column, ...same, ...told }
    }),
  )
  expect(rowsOf(file, 'SELECT * FROM dictionary')).toEqual(described)
  const views = new Set(rowsOf(file, `SELECT name FROM sqlite_schema WHERE type = 'view'`).map(({ name }) => name))
  for (const { name, columns } of PUBLIC_TABLES.filter((table) => !views.has(table.name))) {
    const found = rowsOf(file, 'SELECT name FROM pragma_table_xinfo(?) WHERE "notnull" OR pk', name)

    const needed = columns.filter(({ nullable }) => !nullable).map((column) => ({ name: column.name }))
    expect(needed, name).toEqual(found)
  }
})

test('docs/read/sql.md and docs/reference/data.md name the public columns that a copy for readers does not have', async () => {
  const mirror = await aMirrorOfNights()
  const [copy] = publishAll(aPlan(mirror)).copies
  const missing = PUBLIC_TABLES.flatMap(({ name, columns }) => {
    const found = rowsOf(copy?.file ?? '', 'SELECT name FROM pragma_table_xinfo(?)', name)
    const there = new Set(found.map((row) => row['name']))
    return columns.filter((column) => !there.has(column.name)).map((column) => `\`${column.name}\``)
  })
  const listed = missing.join(', ').replace(/, (?=[^,]*$)/, ' and ')

  for (const page of ['docs/read/sql.md', 'docs/reference/data.md'])
    expect(readFileSync(new URL(`../../${page}`, import.meta.url), 'utf8')).toContain(listed)
})

test('docs/reference/data.md is what the dictionary says', async () => {
  const page = `${[INTRODUCTION, ...[...PUBLIC_TABLES, MANIFEST].map(section)].join('\n\n')}\n`
  await expect(page).toMatchFileSnapshot('../../docs/reference/data.md')
})

const INTRODUCTION = `# Data

To look up a column of the mirror, or of a copy for readers. Copies have no \`row_id\`, \`reject_id\` and \`record_key\`, and \`manifest\` is in
copies alone. The table \`dictionary\` says the same in each of them. Tables may gain columns, and never lose or rename one.

Times are UTC text that sorts and compares with \`datetime('now')\`; JSON is text. A mirror in PostgreSQL has the same tables and columns, with
[types of its own](../operate/postgres.md). Notes: \`service\` is as the service sent it, and all else is by the mirror; \`NULL\` is
NULL where there is none; \`personal\` may hold personal data. Written by \`npx vitest run test/copies/dictionary.test.ts --update\`; do not edit.`

/** Columns that are just those of `customers` are named in one line. */
function section({ name, meaning, columns }: PublicTable): string {
  const shared = columns.filter((column) => name !== 'customers' && OF_CUSTOMERS.has(JSON.stringify(column)))
  const own = columns.filter((column) => !shared.includes(column))
  const names = shared.map((column) => `\`${column.name}\``).join(', ')
  const rows = own.map(({ name: column, type, meaning: holds, source, nullable, personal }) => {
    const notes = [source === 'service' && source, nullable && 'NULL', personal && 'personal'].filter(Boolean)
    return `| \`${column}\` | ${type} | ${withoutNotes(holds).replaceAll('|', '\\\\|')} | ${notes.join(', ')} |`
  })
  const told = `## ${name}\n\n${meaning.charAt(0).toUpperCase()}${meaning.slice(1)}.`
  if (rows.length === 0) return `${told} Its columns are those of [customers](#customers) but for \`row_id\`.`
  return [
    told,
    ...(shared.length === 0 ? [] : [`As in [customers](#customers): ${names}.`]),
    ['| column | type | meaning | notes |', '| --- | --- | --- | --- |', ...rows].join('\n'),
  ].join('\n\n')
}

/** A meaning without what the notes, or the page at its beginning, say of every column. */
function withoutNotes(meaning: string): string {
  return meaning
    .replace(/(, as sent)?; NULL (when null or missing|when left out|if none|otherwise)$/, '')
    .replace(/, UTC(?=;|$)/, '')
}

const CUSTOMERS = PUBLIC_TABLES.find(({ name }) => name === 'customers')
const OF_CUSTOMERS = new Set(CUSTOMERS?.columns.map((column) => JSON.stringify(column)))
