import { describe, expect, test } from 'vitest'
import type { Ending } from '../../src/model/run.ts'
import { aCustomer, anEnding, aPage, customerId, customers, START_MS, DAY_MS } from '../support/builders.ts'
import { onPostgres } from '../support/mirror-choice.ts'
import { aMirror, dump, mirrorPages, rowsOf, tamper, valueOf } from '../support/mirror-file.ts'
import { aMirrorOf, prune } from './nights.ts'

/* A trigger that someone added to a table of the mirror keeps rows from being written, and reports no error. */

const PROVEN = {
  ...{ proof: 'proven', reasons: [] },
  removals: { rule: { after: 1, maxShare: 0.1 }, confirmed: new Set<string>() },
} as const satisfies Partial<Ending>

test.each<[what: string, event: string, list: readonly unknown[]]>([
  ['new customers', 'INSERT ON customers', customers(1, 44)],
  ['new customers of the feed', 'INSERT ON changes', customers(1, 44)],
  ['changes of the feed', 'INSERT ON changes', [aCustomer(1, { name: 'Ada' }), ...customers(2, 40)]],
  ['changed customers', 'UPDATE ON customers', [aCustomer(1, { name: 'Ada' }), ...customers(2, 40)]],
  ['lost fields', 'UPDATE ON customers', [aCustomer(1, { phone: null }), ...customers(2, 40)]],
  ['lost fields of the feed', 'INSERT ON changes', [aCustomer(1, { phone: null }), ...customers(2, 40)]],
  ['rejects', 'INSERT ON rejects', [aCustomer(1, { name: [] }), ...customers(2, 40)]],
  ['the stamp of the rows', 'UPDATE ON last_update', customers(1, 44)],
  ['a missing customer', 'UPDATE OF missing_since ON customers', customers(2, 40)],
  ['a removed customer', 'UPDATE OF removed_at ON customers', customers(2, 40)],
  ['a removal of the feed', 'INSERT ON changes', customers(2, 40)],
  ['an absence', 'INSERT ON absences', customers(2, 40)],
  ['held removals', 'INSERT ON held_rows', [aCustomer(1)]],
])('a trigger that keeps %s from being written ends the run, and is what to look for', async (_, event, list) => {
  const mirror = await aMirrorOf(customers(1, 40))
  const before = dump(mirror.file, ['customers', 'changes', 'rejects'])
  suppress(mirror.file, event)

  const said = `a trigger, a rule or a policy that someone added to ${event.split(' ').at(-1)}`
  const refused = { code: 'accounting', message: expect.stringContaining(said) }
  await expect(mirrorPages(mirror, [list], { ending: PROVEN })).rejects.toMatchObject(refused)
  expect(dump(mirror.file, ['customers', 'changes', 'rejects'])).toEqual(before)
})

test.skipIf(onPostgres)('a trigger that rolls back leaves nothing of a page, nor of what comes after it', async () => {
  const mirror = await aMirrorOf(customers(1, 40))
  tamper(mirror.file, `CREATE TRIGGER undoing BEFORE INSERT ON changes BEGIN SELECT RAISE(ROLLBACK, 'no'); END`)
  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS })
  const before = rowsOf(mirror.file, 'SELECT * FROM runs')

  const saved = mirror.savePages(run, [aPage(1, [...customers(1, 44), aCustomer(50, { name: [] })])], START_MS)
  const message = expect.stringContaining('undoing on changes')
  await expect(saved).rejects.toMatchObject({ code: 'foreign', message })
  expect(rowsOf(mirror.file, 'SELECT * FROM runs')).toEqual(before)
  expect(valueOf(mirror.file, 'SELECT count(*) FROM rejects')).toBe(0)
})

test('a trigger that keeps customers from being deleted keeps them from being forgotten and pruned', async () => {
  const mirror = await aMirrorOf(customers(1, 2))
  tamper(mirror.file, `UPDATE customers SET removed_at = '2026-02-01 00:00:00.000' WHERE row_id = 1`)
  suppress(mirror.file, 'DELETE ON customers')
  const refused = { code: 'accounting', message: expect.stringContaining('added to customers') }
  const toForget = { organization: 'acme', id: customerId(2), nowMs: START_MS, monotonicMs: START_MS }

  await expect(mirror.forgetCustomer(toForget)).rejects.toMatchObject(refused)
  await expect(prune(mirror, { removedCustomersMs: DAY_MS }, 365)).rejects.toMatchObject(refused)
})

/** `event` as in CREATE TRIGGER: a verb, ON and a table. */
function suppress(file: string, event: string) {
  if (!onPostgres) return tamper(file, `CREATE TRIGGER skipping BEFORE ${event} BEGIN SELECT RAISE(IGNORE); END`)
  tamper(file, 'CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$')
  tamper(file, `CREATE TRIGGER skipping BEFORE ${event} FOR EACH ROW EXECUTE FUNCTION skip()`)
}

test('the number of a customer who was deleted by hand is given to no other while a list may refer to it', async () => {
  const mirror = await aMirrorOf(customers(1, 3))
  tamper(mirror.file, 'DELETE FROM customers WHERE row_id >= 2')

  await mirrorPages(mirror, [customers(3, 5)])

  const stored = rowsOf(mirror.file, 'SELECT row_id, name FROM customers ORDER BY row_id')
  expect(stored.map(Object.values)).toEqual([1, 4, 5, 6].map((row, at) => [row, `Customer ${at === 0 ? 1 : at + 2}`]))
})

/* Rules, constraints and functions that an administrator added on a server, and sequences that a move left behind. */

const touching = (body: string) => [
  `CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body}; RETURN new; END $$`,
  'CREATE TRIGGER touching BEFORE INSERT ON customers FOR EACH ROW EXECUTE FUNCTION touch()',
]
const TOUCH = 'function (\\w+\\.)?touch\\b'
const constraining = (words: string) => [`ALTER TABLE customers ADD CONSTRAINT one ${words}`]

describe.runIf(onPostgres)('on a server', () => {
  test.each<[what: string, made: string[], named: string]>([
    ['a CHECK constraint', constraining('CHECK (length(name) < 12)'), 'table customers, constraint one .*23514'],
    ['a UNIQUE constraint', constraining('UNIQUE (organization, name)'), 'table customers, constraint one .*23505'],
    ['a function that refuses rows', touching(`RAISE 'not %', new.name`), `${TOUCH}.*P0001`],
    ['a function that converts a name', touching('new.phone := new.name::int'), `${TOUCH}.*22P02`],
    ['a function without its table', touching('INSERT INTO audit VALUES (new.name)'), `${TOUCH}.*42P01`],
    ['a function that sets no column', touching('new.nickname := new.name'), `${TOUCH}.*42703`],
    ['a renamed column', ['ALTER TABLE changes RENAME fields TO what'], '"?fields"? .*42703'],
    ['a sequence behind its rows', [`SELECT setval('runs_id_seq', 1, false)`], 'constraint runs_pkey .*23505'],
  ])('%s that refuses rows is named, and no value', async (_what, made, named) => {
    const mirror = await aMirrorOf(customers(1, 2))
    for (const sql of made) tamper(mirror.file, sql)
    const name = 'Ann Person-Lee'

    const failing = mirrorPages(mirror, [[aCustomer(1, { name }), aCustomer(2, { name }), aCustomer(3, { name })]])

    const message = expect.stringMatching(new RegExp(named))
    await expect(failing).rejects.toMatchObject({ code: 'foreign', message })
    await expect(failing).rejects.not.toThrow(/Ann/)
  })

  test('a run to which the server lost saved pages, or the run itself, saves nothing more, and is not complete', async () => {
    const mirror = await aMirror()
    const lost = await mirror.startRun({ organization: 'globex', trigger: 'sync', nowMs: START_MS })
    for (const table of ['leases', 'runs']) tamper(mirror.file, `DELETE FROM ${table} WHERE organization = 'globex'`)
    const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS })
    await mirror.savePages(run, [aPage(1, customers(1, 3))], START_MS)
    tamper(mirror.file, 'DELETE FROM customers')
    tamper(mirror.file, 'UPDATE runs SET pages = 0, received = 0, inserted = 0')

    const replaced = { code: 'replaced', message: expect.stringContaining('went back to an earlier state') }
    await expect(mirror.renewLease(lost, START_MS)).rejects.toMatchObject(replaced)
    await expect(mirror.savePages(run, [aPage(2, customers(4, 6))], START_MS)).rejects.toMatchObject(replaced)
    await expect(mirror.finishRun(run, anEnding(), START_MS)).rejects.toMatchObject(replaced)
    expect(valueOf(mirror.file, 'SELECT count(*) FROM customers')).toBe(0)
  })

  test('a text too long for an index of readers is stored, and so is every other one', async () => {
    const long = Array.from({ length: 1000 }, (_, at) => (at * 7919 * 7919).toString(36)).join('')
    const mirror = await aMirrorOf([aCustomer(1)])
    await mirrorPages(mirror, [[aCustomer(1)]], { organization: 'globex' })
    const made = `SELECT indexname AS name FROM pg_indexes WHERE schemaname = current_schema()
      AND indexname IN ('customers_by_email', 'customers_by_language', 'customers_by_update')`
    const indexes = () => rowsOf(mirror.file, made)
    expect(indexes()).toHaveLength(3)

    const list = [aCustomer(1, { email: long }), aCustomer(2, { language: long })]
    // Each meets the index, and one drops it for both.
    const both = ['acme', 'globex'].map((organization) => mirrorPages(mirror, [list], { organization }))

    const report = { status: 'complete', inserted: 1, updated: 1 }
    expect(await Promise.all(both)).toMatchObject([report, report])
    expect(valueOf(mirror.file, 'SELECT count(*) FROM customers WHERE ? IN (email, language)', long)).toBe(4)
    expect(indexes()).toEqual([{ name: 'customers_by_update' }])
  })
})
