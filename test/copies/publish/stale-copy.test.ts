import { rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { readConfig } from '../../../src/config/read-config.ts'
import { listCopiesLeft, olderCopies } from '../../../src/copies/older-files.ts'
import type { Mirror } from '../../../src/store/mirror.ts'
import { CLOCKS, night, organizationsOf, quickRun } from '../../store/nights.ts'
import { anEnding, customerId, customers, START_MS } from '../../support/builders.ts'
import { aMirror, valueOf } from '../../support/mirror-file.ts'
import { aMirrorOfTwo, aPlan, aSmallMirror, aSplitPlan, publishAll, staleCopies } from '../../support/publishing.ts'
import { anAwayOrganization, aWorkplace } from '../../support/workplace.ts'

const forget = (mirror: Mirror) => mirror.forgetCustomer({ organization: 'acme', id: customerId(2), ...CLOCKS })
const customersIn = (file = '') => valueOf(file, 'SELECT count(*) FROM active_customers')

test.each([
  ['holds a forgotten customer', 4, 0, forget],
  [
    'has an organization as active that was retired',
    0,
    0,
    async (mirror: Mirror) => (await organizationsOf(mirror.file)).retire('acme', CLOCKS),
  ],
  ['lacks a night', 5, 1, (mirror: Mirror) => night(mirror, 1, customers(1, 5))],
])(
  'a copy that %s is stale, that of another organization is not, and only one of before a night is kept',
  async (_, left, kept, change) => {
    const mirror = await aMirrorOfTwo()
    const plan = aSplitPlan(mirror.file, { keep: 3 })
    const file = publishAll(plan).copies[0]?.file ?? ''
    await change(mirror)
    const stale = staleCopies(plan)

    expect(stale).toEqual([file])
    expect(publishAll({ ...plan, only: stale }).copies.map((copy) => copy.file)).toEqual([file])
    expect(staleCopies(plan)).toEqual([])
    expect(customersIn(file)).toBe(left)
    expect(olderCopies(file)).toHaveLength(kept)
  },
)

test('a copy is stale while it is missing, lacks the end of a run, is of another mirror, or of the other kind as to personal data', async () => {
  const [mirror, another] = [await aMirror(), await aMirror()]
  await night(mirror, 0, customers(1, 5))
  await night(another, 1, customers(2, 6))
  const plan = aPlan(mirror.file)
  const isStale = (change = {}) => staleCopies({ ...plan, ...change }).length > 0

  expect(isStale()).toBe(true)
  publishAll(plan)
  expect([isStale(), isStale({ withoutPersonalData: true }), isStale({ mirror: another.file })]).toEqual([
    ...[false, true, true],
  ])
  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS })
  publishAll(plan)
  expect(isStale()).toBe(false)
  await mirror.finishRun(run, anEnding({ status: 'failed' }), START_MS)
  expect(isStale()).toBe(true)
})

test('a copy that lacks a quick run is stale only if that run changed something', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 5))
  const plan = aPlan(mirror.file)
  publishAll(plan)
  const stale: string[][] = []
  for (const [hour, last] of [5, 6].entries()) {
    await quickRun(mirror, 0, customers(1, last), { hour })
    stale.push(staleCopies(plan))
  }
  publishAll(plan)

  expect(stale).toEqual([[], [plan.file]])
  expect(staleCopies(plan)).toEqual([])
  expect(customersIn(plan.file)).toBe(6)
})

test('neither a forgotten customer nor a forgotten organization is kept in an older copy, although a night has passed', async () => {
  const mirror = await aMirrorOfTwo()
  const plan = aPlan(mirror.file, { keep: 3 })
  const kept: number[] = []
  for (const [n, forgetting] of [
    undefined,
    () => forget(mirror),
    async () => (await organizationsOf(mirror.file)).forget('globex', CLOCKS),
    undefined,
  ].entries()) {
    await forgetting?.()
    await night(mirror, 1 + n, customers(3, 6))
    publishAll(plan)
    kept.push(olderCopies(plan.file).length)
  }

  expect(kept).toEqual([0, 0, 0, 1])
})

test('copies after quick runs push no copy of a night out of those that are kept', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 5))
  const plan = aPlan(mirror.file, { keep: 2 })
  publishAll(plan)
  for (const hour of [1, 2]) {
    await quickRun(mirror, 0, customers(1, 5 + hour), { hour })
    publishAll(plan)
  }
  const inTheEvening = olderCopies(plan.file)
  await night(mirror, 1, customers(1, 8))
  publishAll(plan)

  expect(inTheEvening).toEqual([])
  expect(olderCopies(plan.file).map(customersIn)).toEqual([7])
})

test('copies that can be listed no more are those that were there before, and where there is no list at first it is an error', async () => {
  const plan = aPlan(await aSmallMirror())
  publishAll(plan)
  const place = aWorkplace([anAwayOrganization()], { publish: { file: plan.file, keep: 3 } })
  const config = await readConfig({ file: place.config, cwd: '/' })
  const copiesLeft = listCopiesLeft(config, 'acme')
  rmSync(dirname(plan.file), { recursive: true })
  writeFileSync(dirname(plan.file), '')

  expect(copiesLeft()).toEqual({ copies: [plan.file], replaced: [] })
  expect(() => listCopiesLeft(config, 'acme')).toThrow(/not a directory \(\w+, ENOTDIR\)/)
})
