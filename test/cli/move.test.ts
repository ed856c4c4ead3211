import { expect, test } from 'vitest'
import { move } from '../support/commands.ts'
import { aSqliteMirror } from '../support/full-mirror.ts'

test('a server that does not answer ends with 5, and names it without the user', async () => {
  const { file } = await aSqliteMirror()

  expect(await move(file, 'postgres://ann@127.0.0.1:1/crm')).toMatchObject({
    code: 5,
    stderr: expect.stringContaining(
      'postgres://127.0.0.1:1/crm: connect ECONNREFUSED 127.0.0.1:1 (connect, ECONNREFUSED). Start the server',
    ),
  })
})
