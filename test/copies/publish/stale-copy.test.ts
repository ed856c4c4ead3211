import { expect, test } from 'vitest'
import { olderCopies } from '../../../src/copies/copy-manifest.ts'
import type { Mirror } from '../../../src/model/mirror.ts'
import { night } from '../../store/nights.ts'
import { customers } from '../../support/builders.ts'
import { aMirror, valueOf } from '../../support/mirror-file.ts'
import { aPlan, publishAll, staleCopies } from '../../support/publishing.ts'

test('a copy that lacks a quick run is stale only if that run changed something', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 5))
  const plan = aPlan(mirror.file)
  publishAll(plan)
  await quickRun(mirror, 0.1, customers(1, 5))
  const afterNothing = staleCopies(plan)
  await quickRun(mirror, 0.2, customers(1, 6))
  const afterNews = staleCopies(plan)
  await quickRun(mirror, 0.3, customers(1, 6))
  publishAll(plan)

  expect(afterNothing).toEqual([])
  expect(afterNews).toEqual([plan.file])
  expect(staleCopies(plan)).toEqual([])
  expect(valueOf(plan.file, 'SELECT count(*) FROM customers')).toBe(6)
  await night(mirror, 1, customers(1, 6))
  expect(staleCopies(plan)).toEqual([plan.file])
})

test('copies after quick runs push no copy of a night out of those that are kept', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 5))
  const plan = { ...aPlan(mirror.file), keep: 2 }
  publishAll(plan)
  for (const hour of [1, 2, 3]) {
    await quickRun(mirror, hour / 24, customers(1, 5 + hour))
    publishAll(plan)
  }
  const inTheEvening = olderCopies(plan.file)
  await night(mirror, 1, customers(1, 9))
  publishAll(plan)

  expect(inTheEvening).toEqual([])
  expect(olderCopies(plan.file).map((file) => valueOf(file, 'SELECT count(*) FROM customers'))).toEqual([8])
})

test('a copy after a night and a quick run keeps the one from before, like a copy after the night alone', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 5))
  const plan = { ...aPlan(mirror.file), keep: 2 }
  publishAll(plan)
  await night(mirror, 1, customers(1, 6))
  await quickRun(mirror, 1.1, customers(1, 7))
  publishAll(plan)

  expect(olderCopies(plan.file)).toHaveLength(1)
})

test('an organization that only quick runs asked for makes no copy stale for ever', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 5))
  await quickRun(mirror, 0.1, [], 'globex')
  const plan = { ...aPlan(mirror.file), organizations: ['acme', 'globex'] }
  publishAll(plan)

  expect(staleCopies(plan)).toEqual([])
})

function quickRun(mirror: Mirror, day: number, list: readonly unknown[], organization = 'acme') {
  const ending = {
    status: 'partial',
    reasons: ['quick'],
    readToEnd: false,
    trustedPages: 0,
    removals: undefined,
  } as const
  return night(mirror, day, list, { organization, isQuick: true, proof: 'unproven', ending })
}
