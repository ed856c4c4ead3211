import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { fromSqlTime, sqlTime } from '../../../src/store/port/sql.ts'
import { START_MS } from '../../support/builders.ts'
import { aMirror, valueOf } from '../../support/mirror-file.ts'

const moment = fc.integer({ min: Date.UTC(1970, 0), max: Date.UTC(2200, 0) })

test('a time comes back from its text to the millisecond', () => {
  fc.assert(fc.property(moment, (unixMs) => fromSqlTime(sqlTime(unixMs)) === unixMs))
})

test('times compare as text in the order in which they happened', () => {
  fc.assert(fc.property(moment, moment, (a, b) => sqlTime(a) < sqlTime(b) === a < b))
})

test('the mirror reads a time of ours as the same moment', async () => {
  const { file } = await aMirror()

  expect(sqlTime(START_MS)).toBe('2026-01-05 02:00:00.000')
  expect(valueOf(file, `SELECT unixepoch(?)`, sqlTime(START_MS))).toBe(START_MS / 1000)
})
