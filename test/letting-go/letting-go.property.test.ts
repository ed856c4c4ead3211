import { expect, inject, test } from 'vitest'
import { addsUp, type RecordCounts } from '../../src/model/report.ts'
import * as m from './model.ts'
import { customerId } from '../support/builders.ts'
import { dice as diceOf, type Dice } from '../support/dice.ts'
import { onPostgres } from '../support/mirror-choice.ts'
import { aMirrorFile, withReader } from '../support/mirror-file.ts'
import { isThere, type Reader } from '../support/mirror-reader.ts'
import { seeds } from '../support/seeds.ts'

test('whatever is hidden, pruned, forgotten, renamed, retired and restored, the mirror holds what it says', async () => {
  const steps = inject('isDeep') ? 60 : 20
  const first = inject('isDeep') ? Array.from({ length: seeds(20, { least: 1 }) }, (_, index) => index + 1) : []
  for (const seed of [...first, 29])
    expect({ seed, ...(await play(aMirrorFile(), diceOf(seed), steps)) }).toMatchObject({ seed, untruths: [] })
})

/** Plays random commands and nights on a new mirror at `file`. Returns the steps, and the first untruths. */
async function play(file: string, dice: Dice, length: number): Promise<{ steps: string[]; untruths: string[] }> {
  const it = new m.World(file, dice)
  for (let step = 0; step < length; step += 1) {
    it.steps.push(await oneStep(it))
    if (!isThere(file)) continue
    const untruths = withReader(file, (db) => untruthsOf(db, it.model))
    if (untruths.length > 0) return { steps: it.steps, untruths }
    it.day += dice.chance(0.2) ? 0.01 : dice.chance(0.1) ? dice.below(30) : 0.4 + dice.next()
  }
  return { steps: it.steps, untruths: [] }
}

async function oneStep(it: m.World): Promise<string> {
  const { dice } = it
  const name = it.pick([...it.model.keys()])
  if (name === undefined || (it.model.size < 3 && dice.chance(0.1))) return startOrganization(it)
  const kind = dice.below(100)
  if (kind < 50) return m.aNight(it, name)
  if (kind < 62) return m.forget(it, name)
  if (kind < 65) return m.readmit(it, name)
  if (kind < 73) return m.changePolicy(it, name)
  if (kind < 78) return m.rename(it, name)
  if (kind < 83) return m.retire(it, name)
  if (kind < 86) return m.forgetOrganization(it, name)
  // A mirror in PostgreSQL is backed up by the programs of the server.
  if (onPostgres) return m.aNight(it, name)
  if (kind < 93) return m.backup(it)
  return m.restoreOne(it)
}

async function startOrganization(it: m.World): Promise<string> {
  it.services += 1
  const name = `org${it.services}`
  it.model.set(name, { service: m.aService(it.services), held: m.nothingHeld() })
  return m.aNight(it, name)
}

/** What the mirror says that is not so. */
function untruthsOf(db: Reader, model: m.Model): string[] {
  return [
    ...rowUntruths(db, model),
    ...tableUntruths(db, model),
    ...viewUntruths(db),
    ...byteUntruths(db.address, model),
  ]
}

function rowUntruths(db: Reader, model: m.Model): string[] {
  return [...model].flatMap(([name, { held }]) => {
    const active = db.all('SELECT id FROM active_customers WHERE organization = ? ORDER BY id', name)
    const got = active.map(({ id }) => String(id)).join()
    const wanted = Array.from(held.active, customerId).toSorted().join()
    return got === wanted ? [] : [`${name} active: ${got} instead of ${wanted}`]
  })
}

function tableUntruths(db: Reader, model: m.Model): string[] {
  const untruths = ['integrity_check', 'foreign_key_check'].flatMap((check) =>
    db
      .all(`PRAGMA ${check}`)
      .map((row) => JSON.stringify(row))
      .filter((text) => text !== '{"integrity_check":"ok"}'),
  )
  const tables = db.all(`SELECT name FROM sqlite_schema WHERE type = 'table'
       AND EXISTS (SELECT 1 FROM pragma_table_info(sqlite_schema.name) WHERE name = 'organization')`)
  for (const { name } of tables)
    for (const { organization } of db.all(`SELECT DISTINCT organization FROM "${String(name)}"`))
      // Hashes of an organization that a restored backup does not have are kept for its return, and where its feed begins then.
      if (!model.has(String(organization)) && !/^(forgotten|horizons$)/.test(String(name)))
        untruths.push(`${String(name)} has ${String(organization)}`)
  const runs = db.all<RecordCounts & { id: number }>('SELECT * FROM runs')
  for (const run of runs) if (!addsUp(run)) untruths.push(`run ${run.id} does not add up`)
  for (const [what, sql] of Object.entries(NOTHING))
    for (const row of db.all(sql)) untruths.push(`${what}: ${JSON.stringify(row)}`)
  return untruths
}

/** Queries that find nothing in a mirror whose tables agree. */
const NOTHING = {
  'is_active differs from removed_at': 'SELECT row_id FROM customers WHERE is_active <> (removed_at IS NULL)',
  'an absence is of another organization or of no missing customer': `SELECT row_id FROM absences
     LEFT JOIN customers USING (organization, row_id) WHERE customers.id IS NULL
       OR missing_since IS NULL OR removed_at IS NOT NULL`,
  'a missing customer has no absence': `SELECT row_id FROM customers WHERE missing_since IS NOT NULL AND removed_at IS NULL
     AND NOT EXISTS (SELECT 1 FROM absences
       WHERE absences.organization = customers.organization AND absences.row_id = customers.row_id)`,
  'a change after the last update': `SELECT row_id FROM customers
     WHERE updated_at > (SELECT updated_at FROM last_update)`,
  'a removed customer without the change': `SELECT row_id FROM customers
     WHERE removed_at IS NOT NULL AND 'removed' IS NOT (SELECT change FROM changes
       WHERE changes.organization = customers.organization AND changes.id = customers.id ORDER BY seq DESC LIMIT 1)
     AND EXISTS (SELECT 1 FROM changes
       WHERE changes.organization = customers.organization AND changes.id = customers.id)`,
  'an active customer whose last change is a removal': `SELECT row_id FROM customers
     WHERE removed_at IS NULL AND 'removed' IS (SELECT change FROM changes
       WHERE changes.organization = customers.organization AND changes.id = customers.id ORDER BY seq DESC LIMIT 1)`,
  'a retired organization with active customers': `SELECT id FROM active_customers
     WHERE organization IN (SELECT organization FROM freshness WHERE retired_at IS NOT NULL)`,
  'a run has suppressed more than was received': 'SELECT id FROM runs WHERE suppressed > received',
  'windows of a run that cannot be continued': `SELECT run_id FROM windows JOIN runs ON runs.id = run_id
     WHERE status = 'complete' GROUP BY run_id`,
} as const

/** Freshness, daily counts and history, which count the same customers. */
function viewUntruths(db: Reader): string[] {
  const counted = db.all(`SELECT organization, freshness.active AS fresh,
       (SELECT COUNT(*) FROM active_customers WHERE active_customers.organization = freshness.organization) AS active,
       (SELECT active FROM customers_daily WHERE customers_daily.organization = freshness.organization
         ORDER BY day DESC LIMIT 1) AS daily,
       (SELECT COUNT(*) FROM customers_history WHERE customers_history.organization = freshness.organization
         AND valid_to IS NULL) AS history
     FROM freshness`)
  const untruths = counted
    .filter(({ fresh, active, daily, history }) => new Set([fresh, active, daily ?? active, history]).size > 1)
    .map((row) => `counts differ: ${JSON.stringify(row)}`)
  const negative = db.all('SELECT * FROM customers_daily WHERE min(active, added, removed, changed) < 0')
  return [...untruths, ...negative.map((row) => `a negative count: ${JSON.stringify(row)}`)]
}

/** Forgotten customers and hidden values, anywhere in the bytes. */
function byteUntruths(file: string, model: m.Model): string[] {
  const found = m.textsIn(file)
  const untruths = [...found].filter((text) => text.endsWith('characters'))
  for (const [name, { held, service }] of model) {
    for (const n of held.forgotten)
      for (const id of [customerId(n), customerId(n).replaceAll('-', '')])
        if (found.has(id)) untruths.push(`${name}: the id of ${n}, who is forgotten`)
    const { hash = [], drop = [], key = 0 } = held.hides ?? {}
    const policy = m.policyOf({ hash, drop, key })
    for (const { n, field, text } of service.sent) {
      const isForgotten = held.forgotten.has(n)
      if ((isForgotten || m.isHidden({ hash, drop, key }, field)) && found.has(text))
        untruths.push(`${name}: ${field} of ${n}, ${isForgotten ? 'who is forgotten' : 'which is hidden'}`)
      if (isForgotten && hash.includes(field) && found.has(policy.hashOf(text)))
        untruths.push(`${name}: the hash of ${field} of ${n}, who is forgotten`)
    }
  }
  return untruths
}
