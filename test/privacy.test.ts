import { createHmac } from 'node:crypto'
import Database from 'better-sqlite3'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { fingerprintWith } from '../src/model/fingerprint.ts'
import { privacyPolicy, type PrivacyPolicy } from '../src/privacy/hidden-values.ts'
import type { Mirror } from '../src/store/mirror.ts'
import { type Mirroring, mirrorOrganization } from '../src/sync/mirror-organization.ts'
import { makeNight, listedSource, mirroring } from './support/listed-source.ts'
import { aCustomer, customerId, customers, MINUTE_MS, printOf, type SentRecord, START_MS } from './support/builders.ts'
import { sqliteAlone } from './support/mirror-choice.ts'
import { aMirror, rowsOf, tamper, valueOf } from './support/mirror-file.ts'
import { storedText } from './support/mirror-reader.ts'

const hiddenOf = (list: readonly SentRecord[]) =>
  list.flatMap(({ phone, address }) =>
    [phone, address]
      .map((value) => JSON.stringify(value ?? null).replaceAll('"', ''))
      .filter((text) => text.length > 4),
  )

let mirror: Mirror

beforeEach(async () => {
  mirror = await aMirror()
})

test('a dropped field is stored as NULL and a hashed one as its keyed hash, in extra too', async () => {
  const list = [
    ...customers(1, 3),
    aCustomer(4, { phone: null }),
    aCustomer(5, { phone: '' }),
    aCustomer(6, { phone: 5550100 }),
    aCustomer(7, { fax: 'fax of seven', vip: { since: 2020, by: ['b', 'a'], a: null }, colour: 'blue' }),
    aCustomer(8, { fax: 'fax of eight' }),
  ]
  const { report } = await mirrorList(list, POLICY)

  expect(report).toMatchObject({ status: 'complete', proof: 'proven', inserted: 8 })
  expect(rowOf(1)).toMatchObject({ phone: hmac('+1 555 0100 1'), address: null, name: 'Customer 1' })
  expect([4, 5, 6].map((n) => rowOf(n)?.['phone'])).toEqual([null, hmac(''), hmac('5550100')])
  const vip = hmac('{"a":null,"by":["b","a"],"since":2020}')
  expect(JSON.parse(String(rowOf(7)?.['extra']))).toEqual({ colour: 'blue', vip })
  expect(rowOf(8)?.['extra']).toBeNull()
  expect(textsIn([...hiddenOf(list), 'fax of', '2020', KEY])).toEqual([])
})

test('a field that is spelled otherwise is hidden too, whatever its name, and extra is all that are not documented', async () => {
  const odd = { 'Fax.No': 'fax of one', VIP: 'vip of one', Phone: 'other phone', ['__proto__']: 'inherited' }
  const list = [aCustomer(1, { ...odd, constructor: 'made' })]
  await mirrorList(list, privacyPolicy({ drop: ['fax_no'], hash: ['vip', 'phone'], key: KEY }))

  const hashed = `"Phone":"${hmac('other phone')}","VIP":"${hmac('vip of one')}"`
  expect(rowOf(1)?.['extra']).toBe(`{${hashed},"__proto__":"inherited","constructor":"made"}`)
  expect(textsIn(['fax of one', 'vip of one', 'other phone'])).toEqual([])
  await mirrorList(list, privacyPolicy({ drop: ['extra'] }))
  expect(rowOf(1)).toMatchObject({ extra: null, phone: '+1 555 0100 1' })
  expect(textsIn(['inherited', '"made"'])).toEqual([])
})

test('a night at rest writes nothing, a change of a hidden field shows hashes or nothing, and a field that is shown again is no change', async () => {
  const wrapped = [{ attributes: { Address: 'hidden home', VIP: 'inner vip', seat: 1 } }]
  const more = { vip: 'gold', fax: 'fax', wrapped }
  const list = customers(1, 20, more)
  await mirrorList(list, POLICY)
  const { report: atRest } = await mirrorList(list, POLICY)
  const others = [aCustomer(19, { phone: 'new phone', ...more }), aCustomer(20, { address: 'new home', ...more })]
  const { report } = await mirrorList([...list.slice(0, 18), ...others], POLICY)

  expect(atRest).toMatchObject({ proof: 'proven', updated: 0, unchanged: 20 })
  expect(report).toMatchObject({ proof: 'proven', updated: 1, unchanged: 19 })
  const phones = JSON.stringify({ phone: [hmac('+1 555 0100 19'), hmac('new phone')] })
  expect(changesOf()).toEqual([{ id: customerId(19), change: 'changed', fields: phones }])
  expect(rowOf(9)?.['extra']).toContain(`"attributes":{"VIP":"${hmac('inner vip')}","seat":1}`)
  expect(textsIn(['new phone', 'new home', 'hidden home', 'inner vip'])).toEqual([])

  const { report: shown } = await mirrorList([...list.slice(0, 18), ...others])
  expect(shown).toMatchObject({ proof: 'proven', updated: 20 })
  const sent = { phone: '+1 555 0100 9', address: '9 Example Street, Exampleton' }
  expect(rowOf(9)).toMatchObject({ ...sent, extra: JSON.stringify({ fax: 'fax', vip: 'gold', wrapped }) })
  expect(changesOf()).toHaveLength(1)
  const { report: after } = await mirrorList([{ ...list[0], address: 'moved' }, ...list.slice(1, 18), ...others])
  expect(after).toMatchObject({ updated: 1, unchanged: 19 })
  expect(changesOf()).toHaveLength(2)
})

test('a changed policy rewrites customers, history and rejects, removed ones included, and records no change', async () => {
  const before = customers(1, 30, { vip: 'gold', fax: 'fax' })
  const reject = aCustomer(31, { id: 'no UUID', phone: 'phone of a reject', address: 'address of a reject' })
  const changes: Record<number, object> = { 4: { phone: 'phone five', vip: 'silver' }, 5: { fax: 'fax of six' } }
  const renumbered = before.map((record, at) => ({ ...record, ...changes[at] }))
  await mirrorList(before)
  await mirrorList(renumbered)
  const left = renumbered.slice(1)
  await mirrorList(left)
  await mirrorList(left)
  expect(rowOf(1)).toMatchObject({ is_active: 0, phone: '+1 555 0100 1' })
  await mirrorList([...left, reject])
  const last = valueOf(mirror.file, 'SELECT MAX(updated_at) FROM customers')
  const { report } = await mirrorList([...left, reject], POLICY)

  expect(report).toMatchObject({ status: 'complete', updated: 0, unchanged: 29, rejected: 1 })
  expect(rowOf(1)).toMatchObject({ is_active: 0, phone: hmac('+1 555 0100 1'), address: null })
  expect(rowOf(2)).toMatchObject({ phone: hmac('+1 555 0100 2'), extra: `{"vip":"${hmac('gold')}"}` })
  expect(valueOf(mirror.file, 'SELECT MIN(updated_at) FROM customers')).toSatisfy((at) => String(at) > String(last))
  const [changed, ...others] = changesOf()
  expect(JSON.parse(String(changed?.['fields']))).toEqual({
    phone: [hmac('+1 555 0100 5'), hmac('phone five')],
    extra: [`{"vip":"${hmac('gold')}"}`, `{"vip":"${hmac('silver')}"}`],
  })
  expect(others).toMatchObject([{ change: 'changed', fields: null }, { change: 'removed' }])
  const rejects = rowsOf(mirror.file, 'SELECT payload, resolved_at FROM rejects')
  expect(rejects).toEqual([{ payload: expect.stringContaining(hmac('phone of a reject')), resolved_at: null }])
  const hidden = [...hiddenOf(before), 'gold', 'silver', 'phone five', 'of a reject', '"fax"']
  expect(textsIn(hidden)).toEqual([])
  expect(await unapplied()).toEqual([])
})

test('another key: hashes of the old one are gone, the next run brings the new ones, and records no change', async () => {
  const list = customers(1, 30, { vip: 'gold' })
  await mirrorList(list, POLICY)
  await mirrorList([...list.slice(0, 29), { ...list[29], phone: 'phone thirty' }], POLICY)
  await mirrorList(list.slice(1), POLICY)
  await mirrorList(list.slice(1), POLICY)
  const other = privacyPolicy({ drop: ['address', 'fax'], hash: ['phone', 'vip'], key: NEW_KEY })
  const feed = changesOf().length
  const next = list.slice(1).map((record, at) => (at === 3 ? { ...record, name: 'Renamed' } : record))
  const { report } = await mirrorList(next, other)

  expect(report).toMatchObject({ proof: 'proven', updated: 29, unchanged: 0 })
  expect(rowOf(2)).toMatchObject({ phone: hmac('+1 555 0100 2', NEW_KEY), extra: `{"vip":"${hmac('gold', NEW_KEY)}"}` })
  // Removed, so no run reads it any more.
  expect(rowOf(1)).toMatchObject({ phone: null, extra: null })
  expect(changesOf().slice(feed)).toEqual([
    { id: customerId(5), change: 'changed', fields: JSON.stringify({ name: ['Customer 5', 'Renamed'] }) },
  ])
  expect(changesOf()[0]?.['fields']).toBe('{"phone":[null,null]}')
  const versions = `SELECT phone, closed_by FROM customers_history WHERE id = ? ORDER BY valid_from, valid_to IS NULL`
  expect(rowsOf(mirror.file, versions, customerId(30))).toEqual([
    { phone: null, closed_by: 'changed' },
    { phone: null, closed_by: 'changed' },
    { phone: hmac('+1 555 0100 30', NEW_KEY), closed_by: null },
  ])
  expect(textsIn([hmac('+1 555 0100 7'), hmac('gold')])).toEqual([])

  const { report: after } = await mirrorList([{ ...next[0], phone: null }, ...next.slice(1)], other)
  expect(after).toMatchObject({ updated: 1, unchanged: 28 })
  expect(changesOf().at(-1)?.['fields']).toBe(JSON.stringify({ phone: [hmac('+1 555 0100 2', NEW_KEY), null] }))
})

test('a worker that was replaced while it rewrote changes nothing any more', async () => {
  await mirrorList(customers(1, 5))
  const nowMs = START_MS + 200 * 60 * MINUTE_MS
  const start = { organization: 'acme', trigger: 'sync', nowMs } as const
  const old = await mirror.startRun({ ...start, privacy: privacyPolicy({ drop: ['name'] }) })
  await expect(mirror.startRun({ ...start, privacy: POLICY })).rejects.toThrow(/is mirroring it now/)
  await mirrorList(customers(1, 5), POLICY, { now: () => nowMs + 5 * MINUTE_MS })

  await expect(mirror.applyPrivacy(old, nowMs + 6 * MINUTE_MS)).rejects.toThrow(/another run took over/)
  expect(rowOf(1)).toMatchObject({ name: 'Customer 1', phone: hmac('+1 555 0100 1'), address: null })
  expect(await unapplied()).toEqual([])
})

test.skipIf(sqliteAlone.bytesOfTheFile)('samples that ANALYZE took of hidden values are gone', async () => {
  await mirrorList(customers(1, 50))
  tamper(mirror.file, 'ANALYZE')
  expect(textsIn(['customer-7@example.com'])).toHaveLength(1)
  await mirrorList(customers(1, 50), privacyPolicy({ drop: ['email'] }))

  expect(textsIn(['@example.com'])).toEqual([])
})

test('with a key, what is remembered of a record shows a reader of the file nothing that he could guess', async () => {
  const record = aCustomer(1)
  const remembered = async (policy?: PrivacyPolicy) => {
    mirror = await aMirror()
    await mirrorList([record], policy)
    const key = valueOf(mirror.file, 'SELECT key FROM fingerprint_key')
    if (!(key instanceof Buffer)) throw new Error('There is no key.')
    const guess = printOf(fingerprintWith(key), record)
    const stored = valueOf(mirror.file, 'SELECT fingerprints FROM list_columns')
    return Buffer.isBuffer(stored) && stored.includes(Buffer.from(Float64Array.of(guess).buffer))
  }

  expect(await remembered()).toBe(true)
  expect(await remembered(POLICY)).toBe(false)
})

test.skipIf(sqliteAlone.looseTypes)('a stored value that is no JSON ends no run, and is not kept', async () => {
  const list = customers(1, 10, { vip: 'gold' })
  await mirrorList(list)
  await mirrorList([...list.slice(1), aCustomer(1, { vip: 'silver' })])
  for (const sql of [
    `UPDATE customers SET extra = 'edited by hand' WHERE row_id = 2`,
    `UPDATE changes SET fields = '{"phone"'`,
    `INSERT INTO rejects (run_id, organization, record_key, page, position, payload, reasons, first_seen_at, seen_at)
     VALUES (1, 'acme', 'x', 1, 1, 'edited by hand', '[]', '', '')`,
  ])
    tamper(mirror.file, sql)
  const { report } = await mirrorList(list, POLICY)

  expect(report).toMatchObject({ status: 'complete', proof: 'proven' })
  expect(rowOf(2)?.['extra']).toBe(`{"vip":"${hmac('gold', KEY)}"}`)
  expect(textsIn(['edited by hand'])).toEqual([])
})

test.skipIf(sqliteAlone.wal)('a reader that keeps the file busy is waited for by the next run', async () => {
  await mirrorList(customers(1, 50))
  const reader = new Database(mirror.file, { readonly: true })
  onTestFinished(() => void reader.close())
  reader.exec('BEGIN')
  reader.prepare('SELECT COUNT(*) FROM customers').get()
  const { report } = await mirrorList(customers(1, 50), POLICY)

  expect(report).toMatchObject({ status: 'complete', proof: 'proven' })
  expect(textsIn(['Exampleton'])).toEqual(['Exampleton'])
  expect(await unapplied()).toEqual([{ organization: 'acme', left: 'free space' }])
  reader.exec('COMMIT')
  await mirrorList(customers(1, 50), POLICY)
  expect(await unapplied()).toEqual([])
  expect(textsIn(['Exampleton'])).toEqual([])
})

test('stored rejects lose hidden values too: cut ones, and those that are no objects', async () => {
  const list = [
    ...[aCustomer(1), ...customers(4, 8)],
    ...[
      ['in a list', 'x'.repeat(100_000)],
      'a text alone',
      { phone: 'without an id', data: [{ PHONE: 'wrapped phone' }] },
    ],
    aCustomer(2, { language: [], phone: 'of the cut '.repeat(10_000) }),
    aCustomer(3, { language: [], phone: 'short phone', note: 'y'.repeat(100_000) }),
  ]
  const hidden = ['in a list', 'a text alone', 'of the cut', 'short phone', 'without an id', 'wrapped phone']
  const plainly = { scan: 'plain' as const, pageSize: 100 }
  await mirrorList(list, undefined, plainly)
  const keys = rowsOf(mirror.file, 'SELECT record_key FROM rejects WHERE record_id IS NULL')
  expect(textsIn(hidden)).toEqual(hidden)
  for (const _ of ['changed', 'at rest']) {
    const { report } = await mirrorList(list, privacyPolicy({ hash: ['phone'], key: KEY }), plainly)
    expect(report).toMatchObject({ status: 'complete', rejected: 5 })
  }

  // A digest of the whole payload would show whether a guess is right.
  const digests = keys.map(({ record_key }) => String(record_key))
  expect(textsIn([...hidden, ...digests])).toEqual([])
  const [cut] = rowsOf(mirror.file, `SELECT payload FROM rejects WHERE record_id = '${customerId(3)}'`)
  expect(cut?.['payload']).toContain(hmac('short phone'))
})

test('a run that was interrupted under another key is not continued: its customers are read again', async () => {
  const list = customers(1, 300)
  const told = { scan: 'chain', concurrency: 1, pageSize: 100 } as const
  const { report } = await makeNight(mirror, 0, { list, told: { ...told, privacy: POLICY }, stopAfter: 2 })
  expect(report.status).toBe('interrupted')
  expect(report.received).toBeGreaterThan(0)
  expect(rowsOf(mirror.file, 'SELECT * FROM windows')).not.toEqual([])
  expect(textsIn(['+1 555 0100', 'Exampleton'])).toEqual([])
  const other = privacyPolicy({ hash: ['phone'], key: NEW_KEY })
  const { report: next } = await makeNight(mirror, 1, { list, told: { ...told, privacy: other } })

  expect(next).toMatchObject({ proof: 'proven', resumedFrom: undefined })
  expect(rowOf(1)).toMatchObject({ phone: hmac('+1 555 0100 1', NEW_KEY), address: '1 Example Street, Exampleton' })
})

test('a change of policy that was interrupted leaves no memory of the list, and is no reason to take a hash for the value of a customer', async () => {
  const list = customers(1, 5)
  await makeNight(mirror, 0, { list })
  await makeNight(mirror, 1, { list, told: { scan: 'chain', privacy: POLICY }, stopHiding: 1 })
  expect(rowOf(1)?.['phone']).toBe(hmac('+1 555 0100 1'))
  expect(await unapplied()).toEqual([{ organization: 'acme', left: 'values' }])
  for (const table of ['lists', 'list_columns'])
    expect(rowsOf(mirror.file, `SELECT * FROM ${table}`), table).toEqual([])
  const privacy = privacyPolicy({ hash: ['phone'], key: NEW_KEY })
  await makeNight(mirror, 2, { list: list.slice(1), told: { scan: 'chain', privacy } })

  expect([rowOf(1), rowOf(2)].map((row) => row?.['phone'])).toEqual([null, hmac('+1 555 0100 2', NEW_KEY)])
  expect(changesOf()).toEqual([])
})

const KEY = 'a made-up key of more than thirty-two characters'
const NEW_KEY = 'another made-up key of more than 32 characters'

const POLICY = privacyPolicy({ drop: ['address', 'fax'], hash: ['phone', 'vip'], key: KEY })

/** A value as a policy with this key stores it. */
function hmac(text: string, key = KEY): string {
  return `hmac:${createHmac('sha256', key).update(text).digest('hex')}`
}

let night = 0

/** One run over this list, an hour after the one before. */
async function mirrorList(list: readonly unknown[], privacy?: PrivacyPolicy, overrides: Partial<Mirroring> = {}) {
  night += 1
  const nowMs = START_MS + night * 60 * MINUTE_MS
  const source = listedSource(list)
  return mirrorOrganization(mirroring(mirror, source, { scan: 'chain', privacy, now: () => nowMs, ...overrides }))
}

/** Those of these texts that stand anywhere in the mirror. */
function textsIn(texts: readonly string[]): string[] {
  const stored = storedText(mirror.file)
  return texts.filter((text) => stored.includes(Buffer.from(text).toString('latin1')))
}

function changesOf() {
  return rowsOf(mirror.file, 'SELECT id, change, fields FROM changes ORDER BY seq')
}

function rowOf(n: number) {
  return rowsOf(mirror.file, 'SELECT * FROM customers WHERE id = ?', customerId(n))[0]
}

async function unapplied() {
  const policies = await mirror.listPrivacy()
  return policies.flatMap(({ organization, left }) => (left === 'nothing' ? [] : [{ organization, left }]))
}
