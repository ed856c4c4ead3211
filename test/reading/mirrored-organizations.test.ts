import Database from 'better-sqlite3'
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { openOrganizations } from '../../src/mirror/mirror.ts'
import { APPLICATION_ID } from '../../src/mirror/sqlite/opening/file-mark.ts'
import { listMirroredOrganizations } from '../../src/reading/organizations/mirrored-organizations.ts'
import { customerId, START_MS } from '../support/builders.ts'
import { aMirrorFile, valueOf } from '../support/mirror-file.ts'
import { someOf } from '../support/seeds.ts'

const FOLDER = new URL('../../src/mirror/sqlite/migrations/', import.meta.url)
const MIGRATIONS = readdirSync(FOLDER).toSorted()
const AT = '2026-01-05 02:00:00.000'

/** A mirror as an earlier version left it: acme has an active and a removed customer. */
function anOlderMirror(version: number): string {
  const file = aMirrorFile()
  const db = new Database(file)
  for (const name of MIGRATIONS.slice(0, version)) db.exec(readFileSync(new URL(name, FOLDER), 'utf8'))
  db.exec(`INSERT INTO runs (id, organization, "trigger", started_at, finished_at, data_as_of, status, proof)
    VALUES (1, 'acme', 'sync', '${AT}', '${AT}', '${AT}', 'complete', 'proven')`)
  const moved = version < 7 ? ['', ''] : [', updated_at', `, '${AT}'`]
  for (const [n, removedAt] of [null, AT].entries())
    db.prepare(`INSERT INTO customers (organization, id, first_seen_at, changed_at, removed_at, last_run_id${moved[0]})
      VALUES ('acme', ?, '${AT}', '${AT}', ?, 1${moved[1]})`).run(customerId(n), removedAt)
  db.pragma(`application_id = ${APPLICATION_ID}`)
  db.pragma(`user_version = ${version}`)
  db.close()
  return file
}

const VERSIONS = MIGRATIONS.map((_, place) => place + 1)

test.each(VERSIONS)(
  'the organizations of a mirror of version %d are listed, and the file stays as it is',
  (version) => {
    const file = anOlderMirror(version)
    const before = readFileSync(file)

    expect(listMirroredOrganizations(file)).toEqual([
      { organization: 'acme', active: 1, removed: 1, readAsOfMs: START_MS, retiredAtMs: undefined, isLeaving: false },
    ])
    expect(readFileSync(file).equals(before)).toBe(true)
  },
)

test.each(someOf(VERSIONS))(
  'an organization of a mirror of version %d can be renamed, retired and forgotten',
  async (version) => {
    const file = anOlderMirror(version)
    const clocks = { nowMs: START_MS + 1000, monotonicMs: 1 }

    const organizations = await openOrganizations(file)
    expect(await organizations.rename({ from: 'acme', to: 'acme-eu' }, clocks)).toMatchObject({ customers: 2, runs: 1 })
    expect(await organizations.retire('acme-eu', clocks)).toEqual({ removed: 1 })
    expect(await organizations.forget('acme-eu', clocks)).toBe(true)
    await organizations.close()

    expect(valueOf(file, 'SELECT COUNT(*) FROM customers')).toBe(0)
    expect(listMirroredOrganizations(file)).toEqual([])
  },
)
