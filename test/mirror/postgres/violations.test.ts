import { expect, test } from 'vitest'
import { forgetting } from '../../../src/mirror/postgres/forget/forget.ts'
import { retentionVerbs } from '../../../src/mirror/postgres/retention/prune.ts'
import { aCustomer, customerId, customers, START_MS } from '../../support/builders.ts'
import { aMirrorWithAdditions } from '../../support/postgres/mirror-with-additions.ts'

/* Constraints that an administrator added to the mirror, and sequences that a move left behind, are no defects of this program. */

const { database, organization, undo, write, night } = aMirrorWithAdditions()

test.each([
  [
    'a CHECK',
    'CONSTRAINT short CHECK (length(name) < 12)',
    /constraint short of table customers, which someone added,.*\(23514\)/,
  ],
  [
    'an EXCLUDE',
    'CONSTRAINT one EXCLUDE (organization WITH =, name WITH =)',
    /constraint one of table customers.*\(23P01\)/,
  ],
  ['a UNIQUE', 'CONSTRAINT one UNIQUE (organization, name)', /constraint one of table customers.*\(23505\)/],
])('%s constraint that someone added is named with its table, and no value', async (_what, constraint, expected) => {
  await night(customers(1, 2))
  await write(`ALTER TABLE customers ADD ${constraint}`)
  undo.push(`ALTER TABLE customers DROP CONSTRAINT ${constraint.split(' ')[1]}`)

  const failing = night([aCustomer(1, { name: 'Ann Person-Lee' }), aCustomer(2, { name: 'Ann Person-Lee' })], 1)

  await expect(failing).rejects.toMatchObject({ code: 'mirror-foreign', message: expect.stringMatching(expected) })
  await expect(failing).rejects.not.toThrow(/Ann/)
})

test('a column without a default that someone added is named', async () => {
  await write('ALTER TABLE customers ADD note text NOT NULL DEFAULT 1')
  await write('ALTER TABLE customers ALTER note DROP DEFAULT')
  undo.push('ALTER TABLE customers DROP note')

  await expect(night(customers(1, 2))).rejects.toMatchObject({
    code: 'mirror-foreign',
    message: expect.stringMatching(/column note of table customers.*no default/),
  })
})

test('a trigger that refuses rows is what to look for, and its message is not shown', async () => {
  await write(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not %', new.name; END $$`)
  await write('CREATE TRIGGER refusing BEFORE INSERT ON customers FOR EACH ROW EXECUTE FUNCTION refuse()')
  undo.push('DROP FUNCTION refuse() CASCADE')

  const failing = night([aCustomer(1, { name: 'Ann Lee' })])

  await expect(failing).rejects.toMatchObject({
    code: 'mirror-foreign',
    message: expect.stringContaining('a trigger or a function that someone added'),
  })
  await expect(failing).rejects.not.toThrow(/Ann/)
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
    code: 'mirror-foreign',
    message: expect.stringMatching(/constraint noted of table notes.*ON DELETE CASCADE.*\(23503\)/),
  }

  const toForget = forgetting(database()).forgetCustomer({
    organization: organization(),
    id: customerId(2),
    nowMs: START_MS,
    monotonicMs: START_MS,
  })
  const yearMs = 365 * 86_400_000
  const pruning = retentionVerbs(database()).prune(
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
])('a sequence of %s that is behind its rows is named with the statement that sets it', async (table, column, list) => {
  await night([...customers(1, 1), aCustomer(3, { name: [] })])
  await night([...customers(1, 2), aCustomer(3, { name: [] })], 1)
  const sequence = `pg_get_serial_sequence('${table}', '${column}')`
  await write(`SELECT setval(${sequence}, (SELECT min(${column}) FROM ${table}), false)`)
  undo.push(`SELECT setval(${sequence}, (SELECT max(${column}) FROM ${table}))`)

  const failure: unknown = await night(list, 2).catch((error: unknown) => error)

  expect(failure).toMatchObject({ code: 'mirror-foreign' })
  const [, sql] = /(SELECT setval\(.*?FROM \S+);/.exec(String(failure)) ?? []
  await write(sql ?? '')
  expect(await night(list, 3)).toMatchObject({ status: 'complete' })
})
