import { expect, onTestFinished, test } from 'vitest'
import { openMirror, rehearseMirror } from '../../src/store/mirror.ts'
import { makeNight } from '../support/alike-nights.ts'
import { customers } from '../support/builders.ts'
import { onPostgres } from '../support/mirror-choice.ts'
import { aMirror, rowsOf, tamper, valueOf } from '../support/mirror-file.ts'

const told = { scan: 'chain', concurrency: 1 } as const
const list = customers(1, 30)

test('a mirror has a key of 128 bits, which no other mirror has, and keeps it', async () => {
  const [one, other] = [await aMirror(), await aMirror()]
  const key = keyOf(one.file)

  expect(key).toHaveLength(32)
  expect(keyOf(other.file)).toHaveLength(32)
  expect(keyOf(other.file)).not.toBe(key)
  await (await openMirror(one.file)).close()
  expect(keyOf(one.file)).toBe(key)
})

test('a mirror that lost its key takes another one, and knows none of its records by it', async () => {
  const mirror = await aMirror()
  for (const night of [-1, 0]) await makeNight(mirror, night, { list, told })
  const key = keyOf(mirror.file)
  tamper(mirror.file, 'DELETE FROM fingerprint_key')

  const { recognized, report } = await makeNight(mirror, 1, { list: [...customers(101, 125), ...list], told })

  expect({ recognized, ...report }).toMatchObject({
    recognized: 0,
    proof: 'settled',
    inserted: 25,
    updated: 0,
    missing: 0,
  })
  expect(keyOf(mirror.file)).toHaveLength(32)
  expect(keyOf(mirror.file)).not.toBe(key)
})

test('a key that is damaged is refused by the table', async () => {
  const { file } = await aMirror()

  for (const bad of [`x'00'`, ...(onPostgres ? [] : [`'sixteen letters.'`]), 'NULL', `zeroblob(17)`]) {
    expect(() => tamper(file, `UPDATE fingerprint_key SET key = ${bad}`)).toThrow(/constraint|\btype\b/i)
  }
  expect(() => tamper(file, 'INSERT INTO fingerprint_key VALUES (2, randomblob(16))')).toThrow(/constraint|\btype\b/i)
})

test('no view shows the key', async () => {
  const { file } = await aMirror()

  const views = rowsOf(file, `SELECT name, sql FROM sqlite_schema WHERE type = 'view'`)
  expect(views.length).toBeGreaterThan(1)
  expect(views.filter(({ sql }) => String(sql).includes('fingerprint_key'))).toEqual([])
})

test('a rehearsal has its own key, and the same result as the run', async () => {
  const mirror = await aMirror()
  for (const night of [-1, 0]) await makeNight(mirror, night, { list, told })
  const key = keyOf(mirror.file)
  const rehearsal = await rehearseMirror(mirror.file, ['acme'])
  onTestFinished(() => rehearsal.close())
  const night = { list: [...customers(101, 112), ...list.slice(3)], told }

  const rehearsed = await makeNight(rehearsal, 1, night)
  const real = await makeNight(mirror, 1, night)

  const counted = { proof: 'settled', inserted: 12, updated: 0, missing: 3, removed: 0 }
  expect([rehearsed.report, real.report]).toMatchObject([counted, counted])
  expect([rehearsed.recognized, keyOf(mirror.file)]).toEqual([0, key])
})

test('a run that continues an interrupted one recognizes records by the same key', async () => {
  const mirror = await aMirror()
  for (const night of [-1, 0]) await makeNight(mirror, night, { list, told })
  const longer = [...customers(101, 125), ...list]

  await makeNight(mirror, 1, { list: longer, told, stopAfter: 2 })
  const { recognized, report } = await makeNight(mirror, 2, { list: longer, told })

  expect(recognized).toBeGreaterThan(10)
  expect(report).toMatchObject({ proof: 'settled', updated: 0, missing: 0 })
})

function keyOf(file: string): unknown {
  return valueOf(file, 'SELECT hex(key) FROM fingerprint_key')
}
