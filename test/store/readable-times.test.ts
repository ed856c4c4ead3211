import { expect, test } from 'vitest'
import { aCustomer, customerId } from '../support/builders.ts'
import { onPostgres } from '../support/mirror-choice.ts'
import { aMirror, mirrorPages, tamper } from '../support/mirror-file.ts'

/** A date as no database function, or no program in another language, reads it. */
const UNREADABLE = onPostgres ? 'infinity' : 'in the evening'

test.each([
  ['customers', 'changed_at', `acme ${customerId(1)}`],
  ['customers', 'created_at_utc', `acme ${customerId(1)}`],
  ['runs', 'read_as_of', '1'],
  ['last_update', 'updated_at', '1'],
])('a date by a foreign hand that cannot be read is found in %s.%s', async (table, column, row) => {
  const mirror = await aMirror()
  await mirrorPages(mirror, [[aCustomer(1)]])
  expect(await mirror.findDamage()).toEqual([])
  tamper(mirror.file, `UPDATE ${table} SET ${column} = '${UNREADABLE}'`)

  await expect(mirror.findDamage()).rejects.toMatchObject({
    code: 'foreign',
    message: expect.stringContaining(
      `${column} in the row ${row} of ${table} holds a time that cannot be read (${UNREADABLE})`,
    ),
  })
})
