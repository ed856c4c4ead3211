import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { sqliteAlone } from '../support/mirror-choice.ts'
import { CLOCKS, countsOf, organizationsOf } from './organizations.ts'
import { aMirrorWithTraces, holds, TRACE } from '../support/traces-of-organization.ts'

test.skipIf(sqliteAlone.bytesOfTheFile)(
  'while a reader is in the way it is not finished, and the same call does the rest later',
  async () => {
    const { file } = await aMirrorWithTraces()
    const organizations = await organizationsOf(file)
    const reader = new Database(file, { readonly: true })
    try {
      reader.exec('BEGIN')
      reader.prepare('SELECT COUNT(*) FROM customers').get()

      expect(await organizations.forget('initrode', CLOCKS)).toBe(false)
    } finally {
      reader.close()
    }
    expect(countsOf(file, 'initrode')).toMatchObject({ customers: 0, changes: 0, runs: 0, unfinished_forgets: 1 })
    expect(await organizations.isUnfinished('initrode')).toBe(true)

    expect(await organizations.forget('initrode', CLOCKS)).toBe(true)

    expect(await organizations.isUnfinished('initrode')).toBe(false)
    expect(holds(file, TRACE)).toBe(false)
    expect(holds(file, 'initrode')).toBe(false)
  },
)
