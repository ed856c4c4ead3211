import { expect, test } from 'vitest'
import type { ChangesAsked } from '../../src/model/mirror.ts'
import { aCustomer, customerId, START_MS } from '../support/builders.ts'
import { CLOCKS, DAY_MS, night, nightsOfRenames, prune } from './nights.ts'

const ALL = { organization: 'acme', since: { run: 0 }, afterSeq: 0, limit: 100 }

test('changes are listed by run and by time, a page at a time, with the customer of now and both values', async () => {
  const mirror = await nightsOfRenames(4)
  await night(mirror, 1, [aCustomer(9)], { organization: 'globex' })
  const fieldsOf = async (asked: Partial<ChangesAsked>) =>
    (await mirror.listChanges({ ...ALL, ...asked })).map(({ fields = '' }) => JSON.parse(fields))
  const [first, ...others] = await mirror.listChanges(ALL)

  expect(first).toMatchObject({ runId: 2, change: 'changed', id: customerId(1), name: 'Name 3' })
  expect(first?.changedAtMs).toBe(START_MS + DAY_MS)
  expect(others).toHaveLength(2)
  expect(await fieldsOf({ since: { run: 2 } })).toEqual([
    { name: ['Name 1', 'Name 2'] },
    { name: ['Name 2', 'Name 3'] },
  ])
  expect(await fieldsOf({ since: { ms: START_MS + 2 * DAY_MS } })).toEqual([{ name: ['Name 2', 'Name 3'] }])
  expect(await fieldsOf({ limit: 1, afterSeq: first?.seq ?? 0 })).toEqual([{ name: ['Name 1', 'Name 2'] }])
  expect(await mirror.listChanges({ ...ALL, organization: 'globex' })).toEqual([])
})

test('what retention has deleted is not passed over: changes are listed from a run or a time since which all are kept', async () => {
  const mirror = await nightsOfRenames(4)
  await prune(mirror, { changesMs: DAY_MS }, 3)
  const listed = (since: ChangesAsked['since']) => mirror.listChanges({ ...ALL, since })

  await expect(listed({ run: 1 })).rejects.toThrow('were deleted, as retention is set. Name a later time or run')
  await expect(listed({ ms: START_MS })).rejects.toMatchObject({ code: 'usage' })
  expect(await listed({ run: 2 })).toHaveLength(2)
  expect(await listed({ ms: CLOCKS.nowMs })).toEqual([])
})
