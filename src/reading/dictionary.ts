import { MANIFEST } from './publish/manifest-columns.ts'
import { PUBLIC_TABLES, type PublicColumn, type PublicTable } from '../public-tables.ts'

/**
 * Datasette's `metadata.json` for a file with these tables: `datasette customers.db --metadata metadata.json`. `database` is the
 * name of the file without its ending.
 */
export function datasetteMetadata(database: string, tables: readonly PublicTable[] = PUBLIC_TABLES) {
  const described = tables.map(({ name, meaning, columns }) => {
    const descriptions = columns.map((column) => [column.name, explain(column)])
    return [name, { description: sentence(meaning), columns: Object.fromEntries(descriptions) }]
  })
  return {
    title: 'Customer Mirror',
    description: 'The customers of every organization, as the order-management service lists them.',
    databases: { [database]: { tables: Object.fromEntries(described) } },
  }
}

function explain({ meaning, personal }: PublicColumn): string {
  return sentence(personal ? `${meaning} (personal data)` : meaning)
}

/** The page about the public tables: docs/DATA.md. */
export function dictionaryPage(): string {
  return `${[INTRODUCTION, ...[...PUBLIC_TABLES, MANIFEST].map(section)].join('\n\n')}\n`
}

const INTRODUCTION = `# Data

The public tables and views of the mirror, and of every copy that is published; \`manifest\` is in copies alone. Written by \`npx vitest run
test/reading/dictionary.test.ts --update\`; do not edit. The same is in the mirror itself, in the table \`dictionary\`. Tables may gain columns, and never lose or rename one.
Times are UTC text that sorts and compares with \`datetime('now')\`; JSON is text. A mirror in PostgreSQL has the same tables and columns, with
[types of its own](OPERATIONS.md#a-mirror-in-postgresql).`

function section({ name, meaning, columns }: PublicTable): string {
  const rows = columns.map(({ name: column, type, meaning: holds, source, nullable, personal }) =>
    [`\`${column}\``, type, holds.replaceAll('|', '\\\\|'), source, nullable ? 'yes' : '', personal ? 'yes' : ''].join(
      ' | ',
    ),
  )
  const head = [
    '| column | type | meaning | source | may be NULL | personal data |',
    '| --- | --- | --- | --- | --- | --- |',
  ]
  return [`## ${name}`, '', sentence(meaning), '', ...head, ...rows.map((row) => `| ${row} |`)].join('\n')
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}
