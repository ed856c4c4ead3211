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

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}
