import type { Mirror } from '../src/store.ts'
import { expect, test } from 'vitest'
import type { Mirroring } from '../src/mirror-organization.ts'
import { privacyPolicy } from '../src/privacy/privacy-policy.ts'
import { DAY_MS, makeNight, type Night } from './support/alike-nights.ts'
import { aCustomer, START_MS, type SentRecord } from './support/builders.ts'
import { dice } from './support/dice.ts'
import { aMirror, tamper, valueOf } from './support/mirror-file.ts'

const CHAIN = { scan: 'chain', pageSize: 100, concurrency: 1 } as const
const SIZE = 450

/** Customers in an order that neither ids nor dates nor any field shows. */
const LIST: readonly SentRecord[] = inAnyOrder(SIZE).map((n) =>
  aCustomer(n, { created_at: new Date(START_MS - ((n * 7919) % SIZE) * 3_600_000).toISOString() }),
)

/** Two nights in which no customer moves, then one in which ten have changed, and one is deleted while the list is read. */
const CHANGED = renamed(LIST, 10)
const MOVING: Night = { list: (answered) => (answered < 3 ? CHANGED : CHANGED.toSpliced(20, 1)) }

async function night(mirror: Mirror, index: number, made: Night, told: Partial<Mirroring> = {}) {
  const { report } = await makeNight(mirror, index, { ...made, told: { ...CHAIN, ...told, ...made.told } })
  const certificate: unknown = JSON.parse(String(valueOf(mirror.file, 'SELECT certificate FROM runs ORDER BY id DESC')))
  return { report, certificate }
}

async function afterTwoNights(told: Partial<Mirroring> = {}): Promise<Mirror> {
  const mirror = await aMirror()
  await night(mirror, 0, { list: LIST }, told)
  await night(mirror, 1, { list: LIST }, told)
  return mirror
}

const REMEMBERED = { proof: 'proven', basis: 'remembered order', witness: 'remembered order' }

test('a list in a hidden order is proven in its third night by the order as last read, and the certificate says why', async () => {
  const mirror = await afterTwoNights()

  const { report, certificate } = await night(mirror, 2, MOVING)

  expect(report).toMatchObject({ status: 'complete', proof: 'proven', reasons: [], updated: 10, missing: 0 })
  const fieldsRuledOut = ['name', 'username', 'email', 'phone', 'address', 'company_name', 'language', 'timezone']
  expect(certificate).toMatchObject({ ...REMEMBERED, evidence: { changedWithoutMoving: 10, fieldsRuledOut, runs: 2 } })
})

test('the second night is too early, and so is one after the memory of the list was emptied', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, { list: LIST })
  expect((await night(mirror, 1, MOVING)).certificate).not.toMatchObject(REMEMBERED)

  const emptied = await afterTwoNights()
  tamper(emptied.file, 'DELETE FROM lists')
  expect((await night(emptied, 2, MOVING)).certificate).not.toMatchObject(REMEMBERED)
})

test('one customer who moves, before the night or in it, is enough not to believe the order, nor in the next night', async () => {
  const before = await afterTwoNights()
  const moved = [...CHANGED.slice(1, 300), ...CHANGED.slice(0, 1), ...CHANGED.slice(300)]
  const now = (list: readonly SentRecord[]): Night => ({
    list: (answered) => (answered < 3 ? list : list.toSpliced(20, 1)),
  })
  expect((await night(before, 2, now(moved))).certificate).not.toMatchObject(REMEMBERED)
  expect((await night(before, 3, now(renamed(moved, 20)))).certificate).not.toMatchObject(REMEMBERED)

  const meanwhile = await afterTwoNights()
  const list = (answered: number) => (answered < 3 ? CHANGED : [...CHANGED.slice(1), ...CHANGED.slice(0, 1)])
  expect((await night(meanwhile, 2, { list })).certificate).not.toMatchObject(REMEMBERED)
})

test('a customer edited by hand is no evidence, since the service did not change it', async () => {
  const mirror = await afterTwoNights()
  tamper(mirror.file, `UPDATE customers SET name = 'By Hand' WHERE row_id <= 30`)
  const list = (answered: number) => (answered < 3 ? LIST : LIST.toSpliced(20, 1))

  const { report, certificate } = await night(mirror, 2, { list })

  expect(report.updated).toBe(30)
  expect(certificate).not.toMatchObject(REMEMBERED)
})

test('customers whose changes a quick run saved before the night are evidence as well, except those edited by hand', async () => {
  const moving: Night = { list: (answered) => (answered < 3 ? CHANGED : CHANGED.toSpliced(20, 1)) }
  const quick = { quick: { requests: 40 } }
  for (const edited of [0, SIZE]) {
    const mirror = await afterTwoNights()
    tamper(mirror.file, `UPDATE customers SET phone = 'by hand' WHERE row_id <= ${edited}`)
    const between = await night(mirror, 2, { list: CHANGED, told: quick })

    const { report, certificate } = await night(mirror, 3, moving)

    expect(between.report.updated).toBeGreaterThan(2)
    expect(report.updated + between.report.updated).toBeGreaterThanOrEqual(10)
    if (edited === 0) expect(certificate).toMatchObject({ ...REMEMBERED, evidence: { changedWithoutMoving: 10 } })
    else expect(certificate).not.toMatchObject(REMEMBERED)
  }
})

test('a list by name is not believed to have another order, although no customer moves', async () => {
  const byName = LIST.toSorted((one, other) => (String(one['name']) < String(other['name']) ? -1 : 1))
  const mirror = await aMirror()
  await night(mirror, 0, { list: byName })
  await night(mirror, 1, { list: byName })
  const changed = byName.map((sent, at) => (at % 40 === 0 ? { ...sent, phone: '+49 30 0000' } : sent))

  const { certificate } = await night(mirror, 2, {
    list: (answered) => (answered < 3 ? changed : changed.toSpliced(20, 1)),
  })

  expect(certificate).not.toMatchObject(REMEMBERED)
})

test('a list by a field within another one is not believed to have another order, although no customer moves', async () => {
  const withSurname = (sent: SentRecord, surname: string) => ({ ...sent, profile: { names: { last: surname } } })
  const surname = (at: number) => `Surname ${1000 + at}`
  const list = LIST.map((sent, at) => withSurname(sent, surname(at)))
  const mirror = await aMirror()
  await night(mirror, 0, { list })
  await night(mirror, 1, { list })
  const changed = list.map((sent, at) => (at % 40 === 0 ? { ...sent, phone: '+49 30 0000' } : sent))
  const married = withSurname({ ...changed[420] }, `${surname(150)}-Smith`)
  const moved = changed.toSpliced(420, 1).toSpliced(151, 0, married)

  const { report, certificate } = await night(mirror, 2, { list: (answered) => (answered < 3 ? changed : moved) })

  expect(certificate).not.toMatchObject(REMEMBERED)
  expect(report.missing).toBe(0)
})

test('a list by the number of the company is not believed to have another order, although no customer moves', async () => {
  const inCompany = (sent: SentRecord, number: number) => ({
    ...sent,
    company_name: `Company ${(number * 7919) % 101}`,
  })
  const list = LIST.map((sent, at) => inCompany(sent, Math.floor(at / 6)))
  const mirror = await aMirror()
  await night(mirror, 0, { list })
  await night(mirror, 1, { list })
  const changed = renamed(list, 10)
  const moved = changed.toSpliced(420, 1).toSpliced(150, 0, inCompany({ ...changed[420] }, 25))

  const { report, certificate } = await night(mirror, 2, { list: (answered) => (answered < 3 ? changed : moved) })

  expect(certificate).not.toMatchObject(REMEMBERED)
  expect(report.missing).toBe(0)
})

test('where customers have moved, a field that had one value until then is looked at again', async () => {
  const withPriority = (isFirst: (at: number) => boolean) =>
    LIST.map((sent, at) => ({ ...sent, priority: isFirst(at) ? 1 : 2 }))
  const before = withPriority(() => false)
  const after = withPriority((at) => at % 3 === 0).toSorted((one, other) => one.priority - other.priority)
  const mirror = await aMirror()
  for (const [index, list] of [before, before, after, after].entries()) await night(mirror, index, { list })
  const changed = renamed(after, 10)
  const moved = changed.toSpliced(420, 1).toSpliced(136, 0, { ...changed[420], priority: 1 })

  const { report, certificate } = await night(mirror, 4, { list: (answered) => (answered < 3 ? changed : moved) })

  expect(certificate).not.toMatchObject(REMEMBERED)
  expect(report.missing).toBe(0)
})

test('values that are not stored as sent are compared as sent, and a changed policy begins anew', async () => {
  const key = 'a made-up key of more than thirty-two characters'
  const told = { privacy: privacyPolicy({ drop: ['name'], hash: ['email', 'phone'], key }) }
  const changed = CHANGED.map((sent, at) => (at % 45 === 0 ? { ...sent, username: `other-${at}` } : sent))
  const moving: Night = { list: (answered) => (answered < 3 ? changed : changed.toSpliced(20, 1)) }
  const mirror = await afterTwoNights(told)
  expect((await night(mirror, 2, moving, told)).certificate).toMatchObject(REMEMBERED)

  const other = await afterTwoNights(told)
  const policy = { privacy: privacyPolicy({ drop: ['name'] }) }
  expect((await night(other, 2, moving, policy)).certificate).not.toMatchObject(REMEMBERED)
})

test('a forgotten customer and rejects with an id are passed over, and the others prove the list', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, { list: LIST })
  const nowMs = START_MS + DAY_MS / 2
  await mirror.forgetCustomer({ organization: 'acme', id: String(LIST[40]?.['id']), nowMs, monotonicMs: undefined })
  // To forget a customer empties the memory of the list.
  await night(mirror, 1, { list: LIST })
  await night(mirror, 2, { list: LIST })
  const odd = CHANGED.map((sent, at) => (at === 90 || at === 205 ? { ...sent, email: ['not', 'text'] } : sent))

  const { report, certificate } = await night(mirror, 3, {
    list: (answered) => (answered < 3 ? odd : odd.toSpliced(20, 1)),
  })

  expect(report).toMatchObject({ rejected: 2, suppressed: 1 })
  expect(certificate).toMatchObject(REMEMBERED)
})

test('a run that continues an interrupted one proves the list by the same order', async () => {
  const mirror = await afterTwoNights()
  await makeNight(mirror, 2, { list: CHANGED, told: CHAIN, stopAfter: 2 })

  const later = renamed(CHANGED.toSpliced(20, 1), 17)
  const list = (answered: number) => (answered < 1 ? later : later.toSpliced(60, 1))
  const { report, certificate } = await night(mirror, 3, { list })

  expect(report.resumedFrom).toBeDefined()
  expect(report).toMatchObject({ status: 'complete', proof: 'proven' })
  expect(certificate).toMatchObject(REMEMBERED)
})

/** So many customers, and a few more, have another name. */
function renamed(list: readonly SentRecord[], count: number): SentRecord[] {
  const step = Math.floor(list.length / count)
  return list.map((sent, at) => (at % step === 7 ? { ...sent, name: `${String(sent['name'])}, later` } : sent))
}

function inAnyOrder(count: number): number[] {
  const luck = dice(5)
  return Array.from({ length: count }, (_, at) => ({ n: at + 1, at: luck.next() }))
    .toSorted((one, other) => one.at - other.at)
    .map(({ n }) => n)
}
