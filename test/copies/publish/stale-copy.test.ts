import { rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { olderCopies } from '../../../src/copies/copy-manifest.ts'
import type { Mirror } from '../../../src/store/mirror.ts'
import { night, organizationsOf, quickRun } from '../../store/nights.ts'
import { customerId, customers, START_MS } from '../../support/builders.ts'
import { aMirror, valueOf } from '../../support/mirror-file.ts'
import { aPlan, aSplitPlan, publishAll, staleCopies } from '../../support/publishing.ts'
import { readConfig } from '../../../src/config/read-config.ts'
import { listCopiesLeft } from '../../../src/copies/copies-left.ts'
import { aWorkplace } from '../../support/workplace.ts'

const CLOCKS = { nowMs: START_MS + 3_600_000, monotonicMs: 0 }

test.each([
  [
    'holds a forgotten customer',
    4,
    (mirror: Mirror) => mirror.forgetCustomer({ organization: 'acme', id: customerId(2), ...CLOCKS }),
  ],
  [
    'has an organization as active that was retired',
    0,
    async (mirror: Mirror) => (await organizationsOf(mirror.file)).retire('acme', CLOCKS),
  ],
])('a copy that %s is stale without a run, and is not kept beside the new one', async (_, left, change) => {
  const mirror = await aMirrorOfTwo()
  const plan = aSplitPlan(mirror.file, { keep: 3 })
  const file = publishAll(plan).copies[0]?.file ?? ''
  await change(mirror)
  const stale = staleCopies(plan)
  publishAll({ ...plan, only: stale })

  expect(stale).toEqual([file])
  expect(staleCopies(plan)).toEqual([])
  expect(valueOf(file, 'SELECT count(*) FROM active_customers')).toBe(left)
  expect(olderCopies(file)).toEqual([])
})

test('neither a forgotten customer nor a forgotten organization is kept in an older copy, although a night has passed', async () => {
  const mirror = await aMirrorOfTwo()
  const plan = { ...aPlan(mirror.file), keep: 3 }
  publishAll(plan)
  await mirror.forgetCustomer({ organization: 'acme', id: customerId(2), ...CLOCKS })
  await night(mirror, 1, customers(3, 5))
  publishAll(plan)
  const afterCustomer = olderCopies(plan.file).length
  await (await organizationsOf(mirror.file)).forget('globex', CLOCKS)
  await night(mirror, 2, customers(3, 5))
  publishAll(plan)
  const afterOrganization = olderCopies(plan.file).length
  await night(mirror, 3, customers(3, 6))
  publishAll(plan)

  expect([afterCustomer, afterOrganization, olderCopies(plan.file).length]).toEqual([0, 0, 1])
  expect(valueOf(olderCopies(plan.file)[0] ?? '', 'SELECT count(*) FROM customers')).toBe(4)
})

async function aMirrorOfTwo() {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 5))
  await night(mirror, 0, customers(6, 9), { organization: 'globex' })
  return mirror
}

test('a copy that lacks a quick run is stale only if that run changed something', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 5))
  const plan = aPlan(mirror.file)
  publishAll(plan)
  await quickRun(mirror, 0, customers(1, 5), { hour: 1 })
  const afterNothing = staleCopies(plan)
  await quickRun(mirror, 0, customers(1, 6), { hour: 2 })
  const afterNews = staleCopies(plan)
  await quickRun(mirror, 0, customers(1, 6), { hour: 3 })
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
    await quickRun(mirror, 0, customers(1, 5 + hour), { hour })
    publishAll(plan)
  }
  const inTheEvening = olderCopies(plan.file)
  await night(mirror, 1, customers(1, 9))
  publishAll(plan)

  expect(inTheEvening).toEqual([])
  expect(olderCopies(plan.file).map((file) => valueOf(file, 'SELECT count(*) FROM customers'))).toEqual([8])
})

const ACME = { id: 'acme', baseUrl: 'http://127.0.0.1:1', apiKey: 'key', secret: 'secret' }

test('copies that can be listed no more are those that were there before, and where there is no list at first it is an error', async () => {
  const { config, copy } = await aPublishedCopy()
  const copiesLeft = listCopiesLeft(config, 'acme')
  rmSync(dirname(copy), { recursive: true })
  writeFileSync(dirname(copy), '')

  expect(copiesLeft()).toEqual({ copies: [copy], replaced: [] })
  expect(() => listCopiesLeft(config, 'acme')).toThrow(/not a directory \(\w+, ENOTDIR\)/)
})

async function aPublishedCopy() {
  const { file: mirror } = await aMirror()
  const plan = aPlan(mirror)
  const copy = plan.file
  publishAll(plan)
  const place = aWorkplace([ACME], { publish: { file: copy, keep: 3 } })
  const config = await readConfig({ file: place.config, cwd: '/' })
  return { config, copy }
}
