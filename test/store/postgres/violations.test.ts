import { expect, test } from 'vitest'
import { mirrorOf } from '../../../src/store/open-postgres.ts'
import { aCustomer, customerId, customers, START_MS } from '../../support/builders.ts'
import { aMirrorWithAdditions } from '../../support/pglite-connections.ts'

/* Constraints that an administrator added to the mirror, and sequences that a move left behind, are no defects of this program. */

const { database, organization, undo, write, night } = aMirrorWithAdditions()

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
