import { expect, test } from 'vitest'
import { move } from '../support/commands.ts'
import { aSqliteMirror } from '../support/full-mirror.ts'

test.each([
  ['a password', 'postgres://ann:hunter2@db/crm', /--to holds a password.*PGPASSWORD/],
  ['a bad address', 'postgres://db', /--to must name one database/],
  ['another file', './other.db', /Both mirrors are files.*customer-mirror backup/],
  ['nothing', ' ', /--to is empty/],
])('%s as the place is refused before anything is opened', async (_what, to, said) => {
  const { code, stdout, stderr } = await move('/nowhere/customers.db', to)

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(said)
  expect(stderr).not.toContain('hunter2')
})

test('a server that does not answer ends with 5, and names it without the user', async () => {
  const { file } = await aSqliteMirror()

  expect(await move(file, 'postgres://ann@127.0.0.1:1/crm')).toMatchObject({
    code: 5,
    stderr: expect.stringContaining(
      'postgres://127.0.0.1:1/crm: connect ECONNREFUSED 127.0.0.1:1 (connect, ECONNREFUSED). Start the server',
    ),
  })
})
