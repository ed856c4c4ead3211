import { join } from 'node:path'
import { expect, test } from 'vitest'
import { rowsOf, valueOf } from '../support/mirror-file.ts'
import { aPlan, publishAll } from '../support/publishing.ts'
import { temporaryFolder } from '../support/temp-folder.ts'
import { aMirroredWorkplace, reportOf } from '../support/renamed-elsewhere.ts'

test.each(['before', 'after'])(
  'the configuration may have the new id %s the rename; nothing is loaded anew',
  async (when) => {
    const { mirror, sync, syncAsBefore, change, configure } = await aMirroredWorkplace()
    if (when === 'before') {
      configure('acme-eu')
      expect(reportOf(await sync('acme-eu'))).toMatchObject({ error: { code: 'tenant-mixup' }, inserted: 0 })
    }

    expect(await change('rename', 'acme', 'acme-eu')).toMatchObject({ code: 0 })
    // A worker that has not read the configuration yet.
    expect(reportOf(await syncAsBefore('acme'))).toMatchObject({ error: { code: 'tenant-mixup' }, inserted: 0 })
    configure('acme-eu')

    expect(reportOf(await sync('acme-eu'))).toMatchObject({ unchanged: 120, inserted: 0, updated: 0, proof: 'proven' })
    expect(rowsOf(mirror, 'SELECT organization, COUNT(*) AS n FROM customers GROUP BY 1')).toEqual([
      { organization: 'acme-eu', n: 120 },
      { organization: 'globex', n: 7 },
      { organization: 'initech', n: 3 },
    ])
    expect(valueOf(mirror, 'SELECT COUNT(*) FROM changes')).toBe(0)
  },
)

test('a worker that still had the old configuration ends the retirement, and the organization can be retired again', async () => {
  const { mirror, syncAsBefore, change, configure } = await aMirroredWorkplace()
  configure(undefined)
  await change('retire', 'acme')

  expect(reportOf(await syncAsBefore('acme'))).toMatchObject({ returned: 120, proof: 'proven' })
  expect((await change('list')).stdout).toContain(
    'acme is not in the configuration, and its 120 customers still count as active',
  )
  expect(await change('retire', 'acme')).toMatchObject({ code: 0 })

  expect(rowsOf(mirror, 'SELECT change, COUNT(*) AS n FROM changes GROUP BY 1')).toEqual([
    { change: 'removed', n: 240 },
    { change: 'returned', n: 120 },
  ])
})

test('a published copy says since when an organization is retired', async () => {
  const file = join(temporaryFolder(), 'customers.db')
  const { mirror, change, configure } = await aMirroredWorkplace()
  configure(undefined)

  await change('retire', 'acme')
  publishAll(aPlan(mirror, { file }))

  const sql = 'SELECT organization, active, retired_at IS NOT NULL AS retired FROM freshness ORDER BY 1'
  expect(rowsOf(file, sql)).toEqual([
    { organization: 'acme', active: 0, retired: 1 },
    { organization: 'globex', active: 7, retired: 0 },
    { organization: 'initech', active: 3, retired: 0 },
  ])
})
