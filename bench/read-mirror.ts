import Database from 'better-sqlite3'
import { Client, types } from 'pg'
import { isPostgres } from '../src/address/mirror-address.ts'
import { schemaOf, VALUE_TYPES } from '../src/store/port/postgres-connections.ts'

/** The rows of a statement, as any user of a mirror reads them: times and JSON as text. */
export async function read<Row>(mirror: string, statement: string): Promise<Row[]> {
  if (isPostgres(mirror)) return readServer(mirror, statement)
  const db = new Database(mirror, { readonly: true, fileMustExist: true })
  try {
    return db.prepare<[], Row>(statement).all()
  } finally {
    db.close()
  }
}

async function readServer<Row>(mirror: string, statement: string): Promise<Row[]> {
  const address = new URL(mirror)
  address.search = ''
  const client = new Client({ connectionString: address.href, types: { getTypeParser: parserOf } })
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query(`SET search_path = ${schemaOf(mirror)}; SET timezone = UTC`)
    const { rows } = await client.query<Row & object>(statement)
    return rows
  } finally {
    await client.end()
  }
}

/** As the mirror reads them: numbers as numbers, and times and JSON as text. */
function parserOf(type: number): (text: string) => unknown {
  return VALUE_TYPES.get(type) ?? types.getTypeParser(type)
}
