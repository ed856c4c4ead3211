import { expect, test } from 'vitest'
import { makeNight } from '../support/alike-nights.ts'
import { customers } from '../support/builders.ts'
import { onPostgres } from '../support/mirror-choice.ts'
import { aMirror, tamper, valueOf } from '../support/mirror-file.ts'

const told = { scan: 'chain', concurrency: 1 } as const
const list = customers(1, 30)

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

test('a run that continues an interrupted one recognizes records by the same key', async () => {
  const mirror = await aMirror()
  for (const night of [-1, 0]) await makeNight(mirror, night, { list, told })
  const longer = [...customers(101, 125), ...list]

  await makeNight(mirror, 1, { list: longer, told, stopAfter: 2 })
  const { recognized, report } = await makeNight(mirror, 2, { list: longer, told })

  expect(recognized).toBeGreaterThan(0)
  expect(report).toMatchObject({ proof: 'settled', updated: 0, missing: 0 })
})

function keyOf(file: string): unknown {
  return valueOf(file, 'SELECT hex(key) FROM fingerprint_key')
}
