import { expect, test } from 'vitest'
import { openDatabase } from '../../../src/store/postgres/open-database.ts'
import { type Database, Texts } from '../../../src/store/port/postgres-session.ts'
import { aPostgresMirror } from '../../support/postgres/here.ts'

let database: Promise<Database> | undefined

/** Through the driver, as a mirror sends it. */
async function asRead(expression: string, array: Texts): Promise<unknown> {
  const server = await (database ??= openDatabase(aPostgresMirror(), 'write'))
  return await server.read((session) => session.first(`SELECT ${expression} AS values`, array))
}

const ALL = Array.from({ length: 0x1_0000 - 0x2000 }, (_, code) =>
  String.fromCodePoint(code + (code < 0xd800 ? 0 : 0x2000)),
)

test.each([
  ['what the text form would quote or escape', ['', ' ', '"', '\\', '\\"', "'", '{}', '{a,b}', ',', '\n\r\t\b\f']],
  ['what looks like something else', [null, 'null', 'NULL', 'true', '1', '\\u0041', '\\x41', '{"a": "b\\n"}']],
  ['other scripts', ['Zoë', '日本', '👩‍🚀', '\u00a0', '\ufeff']],
  ['texts of many bytes behind short ones', ['a', '', '日'.repeat(5000), null, '👩'.repeat(3000), 'b']],
  ['every character but U+0000', [ALL.slice(1).join('')]],
  ['many', Array.from({ length: 3000 }, (_, place) => (place % 7 === 0 ? null : `é${place}`))],
  ['none', []],
])('PostgreSQL reads texts: %s', async (_, values) => {
  const { values: json } = Object(await asRead('array_to_json($1::text[])', new Texts(values)))
  expect(JSON.parse(json)).toEqual(values)
})

test('half of a surrogate pair becomes U+FFFD, as in every text that is sent', async () => {
  const { values: json } = Object(await asRead('array_to_json($1::text[])', new Texts(['a\ud800b', '\udc00'])))
  expect(JSON.parse(json)).toEqual(['a\ufffdb', '\ufffd'])
})
