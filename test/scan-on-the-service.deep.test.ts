import { expect, test } from 'vitest'
import { exitCodeOf } from '../src/cli/exit-code.ts'
import { activeIds, goneIds, staged, syncSandbox } from './support/mirrored-sandbox.ts'
import { someOf } from './support/seeds.ts'
import { aSandbox } from './support/workplace.ts'

test('a customer hidden by poison never counts as missing', async () => {
  const { sandbox, mirror, nightly } = await staged('poison')
  const hidden = sandbox.organization('acme').customers[525]
  if (hidden === undefined) throw new Error('no customer at that position')
  // It was mirrored before it went bad.
  const healthy = await aSandbox({ organizations: 1 })
  await syncSandbox(healthy, mirror)
  expect(activeIds(mirror)).toContain(hidden.id)

  for (let night = 1; night <= 3; night += 1) await nightly({ removals: { after: 1, maxShare: 1 } })

  expect(goneIds(mirror)).toEqual(new Set())
})

test('growing-last-page: a list without end fails its run, keeps the rows read, and is no baseline', async () => {
  const { mirror, nightly } = await staged('growing-last-page', { customers: 200 })

  const { report, error } = await nightly()

  expect(report).toMatchObject({ status: 'failed', proof: 'unproven', error: { code: 'page-cap' } })
  expect(exitCodeOf(error)).toBe(3)
  expect(activeIds(mirror).size).toBeGreaterThan(200)
  expect(await mirror.listFreshness()).toMatchObject([{ readAsOfMs: undefined, provenAsOfMs: undefined }])
})

test('a plain scan proves nothing and removes no customer, whatever the service does', async () => {
  for (const name of someOf(['delete', 'count-lies', 'short-page', 'poison', 'ties'], { every: 4 })) {
    const { mirror, nightly } = await staged(name)
    for (let night = 1; night <= 2; night += 1) {
      const { report } = await nightly({ scan: 'plain', removals: { after: 1, maxShare: 1 } })
      expect(report).toMatchObject({ proof: 'unproven', missing: 0, removed: 0, held: 0 })
    }
    expect(goneIds(mirror)).toEqual(new Set())
  }
})
