import { MANIFEST } from '../../src/copies/copy-manifest.ts'
import { PUBLIC_TABLES, type PublicTable } from '../../src/model/public-tables.ts'

/** The page about the public tables: docs/DATA.md. */
export function dictionaryPage(): string {
  return `${[INTRODUCTION, ...[...PUBLIC_TABLES, MANIFEST].map(section)].join('\n\n')}\n`
}

const INTRODUCTION = `# Data

The public tables and views of the mirror, and of every copy that is published: copies have no \`row_id\`, \`reject_id\` and \`record_key\`, and \`manifest\` is in
copies alone. Written by \`npx vitest run test/copies/dictionary.test.ts --update\`; do not edit. The same is in the mirror itself, in the table \`dictionary\`. Tables may gain columns, and never lose or rename one.
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
  return [
    `## ${name}`,
    '',
    `${meaning.charAt(0).toUpperCase()}${meaning.slice(1)}.`,
    '',
    ...head,
    ...rows.map((row) => `| ${row} |`),
  ].join('\n')
}
