import { expect, test } from 'vitest'
import { mirrorOf } from '../../../src/store/open-postgres.ts'
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
  await suppress('INSERT ON held_removals')
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
