import { join } from 'node:path'
import { expect, test } from 'vitest'
import { rowsOf } from '../support/mirror-file.ts'
import { temporaryFolder } from '../support/temp-folder.ts'
import { aMirroredWorkplace, reportOf } from '../support/renamed-elsewhere.ts'

test('a rename can be taken back, whatever a run of the old id left meanwhile', async () => {
  const { sync, syncAsBefore, change } = await aMirroredWorkplace()
  await change('rename', 'acme', 'acme-eu')
  await syncAsBefore('acme')

  expect(await change('rename', 'acme-eu', 'acme')).toMatchObject({ code: 0 })

  expect(reportOf(await sync('acme'))).toMatchObject({ unchanged: 120, inserted: 0, proof: 'proven' })
})

test.each([
  ['renamed', ['rename', 'acme', 'acme-eu'], 'acme-eu'],
  ['forgotten', ['forget', 'acme', '--yes'], undefined],
])('a copy for readers that holds an organization that was %s is made anew', async (_, args, id) => {
  const file = join(temporaryFolder(), 'customers.db')
  const { publish, stale, change, configure } = await aMirroredWorkplace({ publish: { file } })
  await publish()
  configure(id)
  expect(await stale()).toEqual([])

  const { code } = await change(...args)

  expect(code).toBe(0)
  expect(await stale()).toEqual([file])
  await publish()
  expect(await stale()).toEqual([])
  expect(
    rowsOf(file, 'SELECT DISTINCT organization FROM customers ORDER BY 1').map((row) => row['organization']),
  ).toEqual([id, 'globex', 'initech'].filter((name) => name !== undefined))
})
