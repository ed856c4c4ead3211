import { expect, test } from 'vitest'
import { mirrorOf } from '../../../src/store/postgres/open-database.ts'
import { aCustomer, customerId, customers, START_MS } from '../../support/builders.ts'
import { KEPT_FROM_WRITING } from '../../support/failing-disk.ts'
import { aMirrorWithAdditions } from '../../support/pglite-connections.ts'
import { someOf } from '../../support/seeds.ts'

/* What an administrator added to a table of the mirror keeps rows from being written, and reports no error. */

const { database, organization, undo, write, night } = aMirrorWithAdditions()

test.each(someOf([...KEPT_FROM_WRITING, ['the stamp of the rows', 'UPDATE ON last_update', customers(1, 4)]]))(
  'a trigger that keeps %s from being written ends the run, and is what to look for',
  async (_what, event, list) => {
    await night(customers(1, 2))
    await suppress(event)

    await expect(night(list, 1)).rejects.toMatchObject({
      code: 'accounting',
      message: expect.stringContaining(
        `a trigger, a rule or a policy that someone added to ${event.split(' ').at(-1)}`,
      ),
    })
    expect(await rows('SELECT name FROM customers WHERE organization = $1 ORDER BY row_id')).toEqual([
      { name: 'Customer 1' },
      { name: 'Customer 2' },
    ])
  },
)

test('a rule that keeps some of the new customers from being written ends the run', async () => {
  await write(`CREATE RULE skipping AS ON INSERT TO customers WHERE new.name = 'Customer 2' DO INSTEAD NOTHING`)
  undo.push('DROP RULE skipping ON customers')

  await expect(night(customers(1, 3))).rejects.toMatchObject({
    code: 'accounting',
    message: expect.stringContaining('2 of 3 rows could be written or deleted in table customers'),
  })
})

const removals = { rule: { after: 1, maxShare: 1 }, confirmed: new Set<string>() }

test.each(
  someOf([
    'UPDATE OF missing_since ON customers',
    'UPDATE OF removed_at ON customers',
    'INSERT ON absences',
    'INSERT ON changes',
  ]),
)('a trigger BEFORE %s that keeps an absent customer listed ends the run', async (event) => {
  await night(customers(1, 30))
  await suppress(event)

  await expect(night(customers(2, 30), 1, { proof: 'proven', reasons: [], removals })).rejects.toMatchObject({
    code: 'accounting',
    message: expect.stringContaining(`added to ${event.split(' ').at(-1)}`),
  })
  expect(await rows('SELECT row_id FROM customers WHERE organization = $1 AND missing_since IS NOT NULL')).toEqual([])
})

test('a trigger that keeps removals from being held ends the run', async () => {
  await night(customers(1, 40))
  await suppress('INSERT ON held_rows')
  const ending = { proof: 'proven', reasons: [], removals: { ...removals, rule: { after: 1, maxShare: 0.1 } } } as const

  await expect(night([aCustomer(1)], 1, ending)).rejects.toMatchObject({ code: 'accounting' })
})

test('a trigger that keeps customers from being deleted keeps them from being forgotten and pruned', async () => {
  await night(customers(1, 2))
  await suppress('DELETE ON customers')
  const refused = { code: 'accounting', message: expect.stringContaining('added to customers') }
  await write(`UPDATE customers SET removed_at = '2026-02-01' WHERE organization = '${organization()}' AND row_id = 1`)
  const retention = { changesMs: undefined, resolvedRejectsMs: undefined, runsMs: undefined, removedCustomersMs: 1 }

  const toForget = { organization: organization(), id: customerId(2), nowMs: START_MS, monotonicMs: START_MS }
  await expect(mirrorOf(database()).forgetCustomer(toForget)).rejects.toMatchObject(refused)
  const asOf = { asOfMs: START_MS + 365 * 86_400_000, isConfirmed: true }
  await expect(mirrorOf(database()).prune(organization(), retention, asOf)).rejects.toMatchObject(refused)
})

/** `event` as in CREATE TRIGGER: a verb, ON and a table. */
async function suppress(event: string) {
  await write('CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$')
  await write(`CREATE TRIGGER skipping BEFORE ${event} FOR EACH ROW EXECUTE FUNCTION skip()`)
  undo.push('DROP FUNCTION skip() CASCADE')
}

/** $1 is the organization. */
function rows(sql: string) {
  return database().read((session) => session.query(sql, organization()).then((answer) => answer.rows))
}

/* Constraints that an administrator added to the mirror, and sequences that a move left behind, are no defects of this program. */

test.each([
  ['a CHECK', 'CONSTRAINT short CHECK (length(name) < 12)', /table customers, constraint short \(SQLSTATE 23514\)/],
  [
    'an EXCLUDE',
    'CONSTRAINT one EXCLUDE (organization WITH =, name WITH =)',
    /table customers, constraint one \(SQLSTATE 23P01\)/,
  ],
  ['a UNIQUE', 'CONSTRAINT one UNIQUE (organization, name)', /table customers, constraint one \(SQLSTATE 23505\)/],
])('%s constraint that someone added is named with its table, and no value', async (_what, constraint, expected) => {
  await night(customers(1, 2))
  await write(`ALTER TABLE customers ADD ${constraint}`)
  undo.push(`ALTER TABLE customers DROP CONSTRAINT ${constraint.split(' ')[1]}`)

  const failing = night([aCustomer(1, { name: 'Ann Person-Lee' }), aCustomer(2, { name: 'Ann Person-Lee' })], 1)

  await expect(failing).rejects.toMatchObject({ code: 'foreign', message: expect.stringMatching(expected) })
  await expect(failing).rejects.not.toThrow(/Ann/)
})

test.each([
  ['refuses rows', `RAISE 'not %', new.name`, 'P0001'],
  ['divides by zero', 'new.name := 1 / 0', '22012'],
  ['converts a name', 'new.phone := new.name::int', '22P02'],
  ['writes a table that is not there', 'INSERT INTO audit VALUES (new.name)', '42P01'],
  ['sets a column that is not there', 'new.nickname := new.name', '42703'],
])('the function of a trigger that %s is named, and no value', async (_what, body, code) => {
  await write(`CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body}; RETURN new; END $$`)
  await write('CREATE TRIGGER touching BEFORE INSERT ON customers FOR EACH ROW EXECUTE FUNCTION touch()')
  undo.push('DROP FUNCTION touch() CASCADE')

  const failing = night([aCustomer(1, { name: 'Ann Lee' })])

  await expect(failing).rejects.toMatchObject({
    code: 'foreign',
    message: expect.stringMatching(new RegExp(`, function (\\w+\\.)?touch\\b.* \\(SQLSTATE ${code}\\)`)),
  })
  await expect(failing).rejects.not.toThrow(/Ann/)
})

test('a column of the mirror that was renamed is named', async () => {
  await write('ALTER TABLE changes RENAME fields TO what')
  undo.push('ALTER TABLE changes RENAME what TO fields')
  await night([aCustomer(1, { name: 'Ada' })]).catch(() => {})

  const failing = night([aCustomer(1, { name: 'Ann Lee' }), aCustomer(2)], 1)

  await expect(failing).rejects.toMatchObject({
    code: 'foreign',
    message: expect.stringMatching(/"?fields"? .*\(SQLSTATE 42703\)/),
  })
})

test('a foreign key that refers to a customer keeps it from being forgotten and from being pruned, and is named', async () => {
  await night(customers(1, 2))
  await write('CREATE TABLE notes (organization text, id text)')
  await write(
    'ALTER TABLE notes ADD CONSTRAINT noted FOREIGN KEY (organization, id) REFERENCES customers (organization, id)',
  )
  undo.push('DROP TABLE notes')
  await write(`INSERT INTO notes SELECT organization, id FROM customers WHERE organization = '${organization()}'`)
  await write(`UPDATE customers SET removed_at = '2026-02-01' WHERE organization = '${organization()}' AND row_id = 1`)
  const named = {
    code: 'foreign',
    message: expect.stringMatching(/constraint noted \(SQLSTATE 23503\)/),
  }

  const toForget = mirrorOf(database()).forgetCustomer({
    organization: organization(),
    id: customerId(2),
    nowMs: START_MS,
    monotonicMs: START_MS,
  })
  const yearMs = 365 * 86_400_000
  const pruning = mirrorOf(database()).prune(
    organization(),
    { changesMs: undefined, resolvedRejectsMs: undefined, runsMs: undefined, removedCustomersMs: 86_400_000 },
    { asOfMs: START_MS + yearMs, isConfirmed: true },
  )

  await expect(toForget).rejects.toMatchObject(named)
  await expect(toForget).rejects.not.toThrow(customerId(2))
  await expect(pruning).rejects.toMatchObject(named)
})

test.each([
  ['runs', 'id', customers(1, 2)],
  ['changes', 'seq', [aCustomer(1, { name: 'Ada' })]],
  ['rejects', 'reject_id', [aCustomer(2, { name: [] })]],
])('a sequence of %s that is behind its rows is named by the key that refuses a row', async (table, column, list) => {
  await night([...customers(1, 1), aCustomer(3, { name: [] })])
  await night([...customers(1, 2), aCustomer(3, { name: [] })], 1)
  const sequence = `pg_get_serial_sequence('${table}', '${column}')`
  await write(`SELECT setval(${sequence}, (SELECT min(${column}) FROM ${table}), false)`)

  const failure: unknown = await night(list, 2).catch((error: unknown) => error)

  expect(failure).toMatchObject({
    code: 'foreign',
    message: expect.stringContaining(`constraint ${table}_pkey (SQLSTATE 23505)`),
  })
  await write(`SELECT setval(${sequence}, (SELECT max(${column}) FROM ${table}))`)
  expect(await night(list, 3)).toMatchObject({ status: 'complete' })
})
