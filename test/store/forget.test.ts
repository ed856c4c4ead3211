import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { privacyPolicy } from '../../src/privacy/hidden-values.ts'
import type { Mirror } from '../../src/store/mirror.ts'
import { LEASE_MS } from '../../src/store/refusals.ts'
import { sortRecords } from '../../src/sync/sorting/sort-records.ts'
import { aMirrorOf, night, scanEnding } from './nights.ts'
import { aCustomer, anEnding, aPage, customerId, customers, MINUTE_MS, START_MS, DAY_MS } from '../support/builders.ts'
import { onPostgres } from '../support/mirror-choice.ts'
import { aMirror, aPlayedMirror, mirrorPages, rowsOf, tamper, valueOf } from '../support/mirror-file.ts'
import { storedText } from '../support/mirror-reader.ts'

const ID = 'f0f0f0f0-aaaa-4bbb-8ccc-d1d2d3d4d5d6'
const NOW = START_MS + 30 * DAY_MS

function wanted(version: number) {
  const own = { name: `Wanted "Person" ${version}ü`, username: `wanted-user-${version}` }
  return aCustomer(7, { id: ID, ...own, email: `wanted${version}@hidden.example`, phone: `+49 30 9990${version}` })
}

/** Texts by which the customer is found in any byte, whatever table or form it is in. */
const TRACES = [
  ...[ID, ID.toUpperCase(), ID.replaceAll('-', '')].map((text) => Buffer.from(text)),
  Buffer.from(ID.replaceAll('-', ''), 'hex'),
  ...['Wanted', 'wanted', 'hidden.example', '+49 30 9990'].map((text) => Buffer.from(text)),
]

function tracesIn(file: string): string[] {
  const stored = storedText(file)
  return TRACES.map((bytes) => bytes.toString('latin1')).filter((text) => stored.includes(text))
}

const forgetting = (overrides: object = {}) => {
  return { organization: 'acme', id: ID, nowMs: NOW, monotonicMs: undefined, ...overrides }
}

/** Records of others, with and without an id that can be read. */
const REJECTED = [aCustomer(400, { name: {} }), { email: 'other@example.com' }, 'text']

async function everywhere(mirror: Mirror) {
  const others = customers(1, 300).filter(({ id }) => id !== customerId(7))
  await night(mirror, 0, [...others, wanted(1)])
  await night(mirror, 1, [...others.slice(1), wanted(2)])
  await night(mirror, 2, [...others, { ...wanted(3), name: ['not', 'Wanted'] }])
  await night(mirror, 3, [
    ...others,
    { ...wanted(3), id: `{${ID.toUpperCase()}}` },
    { ...wanted(3), id: ID.replaceAll('-', '') },
    { email: 'mailto:WANTED2@hidden.example' },
    ...REJECTED,
  ])
  await night(mirror, 4, [...others, wanted(4)])
  await night(mirror, 5, others)
  const found = { certificate: { proof: 'unproven', found: [ID] } }
  await night(mirror, 6, [...others, wanted(5)], { ending: found })
  const error = { code: 'not-found', message: `It answered 404 (gone: "no Wanted "Person" 5ü"). Ask.` }
  await night(mirror, 7, [...others, wanted(5)], { ending: { status: 'failed', error } })
  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS + 8 * DAY_MS })
  const window = { page: 1, size: 100, perPage: 100, total: 2, beyondEnd: false }
  const page = aPage(1, [{ ...wanted(6), phone: {} }, aCustomer(1)])
  await mirror.savePages(run, [{ ...page, window }], START_MS + 8 * DAY_MS)
  await mirror.finishRun(run, anEnding({ status: 'interrupted' }), START_MS + 8 * DAY_MS)
}

test('no byte of the file, its WAL or its index holds a forgotten customer, whichever rows and earlier rows did; others keep theirs', async () => {
  const mirror = await aPlayedMirror(everywhere)
  const { file } = mirror
  expect(tracesIn(file)).toHaveLength(TRACES.length - 1)
  const kept = rowsOf(file, 'SELECT * FROM customers WHERE id <> ? ORDER BY row_id', ID)

  const { deleted } = await mirror.forgetCustomer(forgetting())
  const erased = await mirror.eraseForgotten(ID)

  expect(deleted).toEqual({ customers: 1, changes: 3, rejects: 5 })
  expect(erased).toBe(onPostgres ? 'released' : 'erased')
  expect(tracesIn(file)).toEqual([])
  expect(rowsOf(file, 'SELECT * FROM customers ORDER BY row_id')).toEqual(kept)
  const payloads = REJECTED.map((record) => ({ payload: JSON.stringify(record) }))
  expect(rowsOf(file, 'SELECT payload FROM rejects ORDER BY reject_id')).toEqual(payloads)
  expect(rowsOf(file, `SELECT certificate FROM runs WHERE CAST(certificate AS TEXT) LIKE '%found%'`)).toEqual([
    { certificate: '{"proof":"unproven","found":["forgotten"]}' },
  ])
  expect(rowsOf(file, `SELECT error FROM runs WHERE error_code = 'not-found'`)).toEqual([
    { error: 'It answered 404. Ask.' },
  ])
  for (const table of ['lists', 'list_columns', 'edited_customers', 'windows'])
    expect(rowsOf(file, `SELECT * FROM ${table}`), table).toEqual([])
  expect(valueOf(file, 'PRAGMA integrity_check')).toBe('ok')
  expect(rowsOf(file, 'PRAGMA foreign_key_check')).toEqual([])

  // What stays is a hash of the id under random bytes of the organization, and the time.
  const bytes = valueOf(file, 'SELECT key FROM forgotten_keys')
  if (!Buffer.isBuffer(bytes)) throw new Error('There is no key.')
  expect(bytes).toHaveLength(32)
  const hash = createHmac('sha256', bytes).update(ID).digest('base64url')
  const forgotten = { number: 1, organization: 'acme', hash, forgotten_at: '2026-02-04 02:00:00.000' }
  expect(rowsOf(file, 'SELECT * FROM forgotten')).toEqual([forgotten])
})

test.each([
  ['a customer that the mirror does not hold', { id: customerId(9999) }],
  ['a customer of another organization', { organization: 'globex' }],
])('%s cannot be forgotten, and nothing changes', async (_, asked) => {
  const mirror = await aPlayedMirror(everywhere)
  const { file } = mirror
  await night(mirror, 20, customers(1, 3), { organization: 'globex' })

  await expect(mirror.forgetCustomer(forgetting(asked))).rejects.toMatchObject({ code: 'usage' })
  expect(rowsOf(file, 'SELECT * FROM forgotten_keys')).toEqual([])
  expect(valueOf(file, 'SELECT count(*) FROM windows')).toBe(1)
})

test('a customer cannot be forgotten while a run has the lease; a run whose lease has expired loses it', async () => {
  const mirror = await aMirrorOf([wanted(1), aCustomer(1)])
  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: NOW })

  await expect(mirror.forgetCustomer(forgetting())).rejects.toMatchObject({ code: 'leased' })
  expect(valueOf(mirror.file, 'SELECT count(*) FROM customers')).toBe(2)

  const later = NOW + LEASE_MS + 1
  await mirror.forgetCustomer(forgetting({ nowMs: later }))
  await expect(mirror.savePages(run, [aPage(1, [wanted(1)])], later)).rejects.toMatchObject({ code: 'leased' })
  expect(rowsOf(mirror.file, 'SELECT id FROM customers')).toEqual([{ id: customerId(1) }])
})

test('rows of another customer that hold the id stay, and are reported', async () => {
  const mirror = await aMirrorOf([wanted(1), aCustomer(1, { referred_by: ID })])
  await mirror.forgetCustomer(forgetting())

  expect(await mirror.eraseForgotten(ID)).toBe('held')
  expect(valueOf(mirror.file, 'SELECT extra FROM customers')).toBe(JSON.stringify({ referred_by: ID }))
})

const LATER_MS = START_MS + MINUTE_MS

test('a changed policy rewrites many rows in bounded steps, between which another organization is mirrored', async () => {
  const mirror = await aMirror()
  for (const organization of ['acme', 'globex']) await mirrorPages(mirror, [customers(1, 30)], { organization })
  // Far from each other: rows of the other organization stand between them.
  addChanges(mirror, 'acme', { from: 1000, count: 5000 })
  addChanges(mirror, 'globex', { from: 20_000, count: 9000 })
  addChanges(mirror, 'acme', { from: 80_000, count: 5000 })
  const other = await mirror.startRun({ organization: 'initech', trigger: 'sync', nowMs: LATER_MS })

  const privacy = privacyPolicy({ drop: ['name'] })
  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: LATER_MS, privacy })
  const left: number[] = []
  for (let isMore = true; isMore;) {
    isMore = await mirror.applyPrivacy(run, LATER_MS)
    left.push(namesIn(mirror, 'acme'))
    if (left.length === 3) await mirror.savePages(other, [aPage(1, customers(1, 3))], LATER_MS)
  }

  const rewritten = left.slice(1).map((count, at) => (left[at] ?? 0) - count)
  expect(Math.max(...rewritten)).toBeLessThanOrEqual(2000)
  expect(rewritten.filter((count) => count > 0).length).toBeGreaterThanOrEqual(5)
  expect([left.at(-1), namesIn(mirror, 'globex')]).toEqual([0, 9000])
  expect(other.records.inserted).toBe(3)
})

function addChanges({ file }: Mirror, organization: string, { from, count }: { from: number; count: number }): void {
  tamper(
    file,
    `WITH RECURSIVE number (n) AS (SELECT ${from} UNION ALL SELECT n + 1 FROM number WHERE n < ${from + count - 1})
    INSERT INTO changes (seq, run_id, organization, id, change, fields, changed_at)
    SELECT n, 1, '${organization}', CAST(n AS TEXT), 'changed', '{"name":["Ada","Eve"]}', '2026-01-05 00:00:00.000' FROM number`,
  )
}

function namesIn({ file }: Mirror, organization: string): number {
  const named = `SELECT count(*) FROM changes WHERE organization = ? AND CAST(fields AS TEXT) LIKE '%"name"%'`
  return Number(valueOf(file, named, organization))
}

test('a list that holds a forgotten customer alone is not empty: who has left it is removed as usual', async () => {
  const mirror = await aMirrorOf(customers(1, 2))
  await mirror.forgetCustomer(forgetting({ id: customerId(1) }))
  const nights = [30, 31].map((n) => START_MS + n * DAY_MS)
  const reports = await Array.fromAsync(nights, async (nowMs) => {
    const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs })
    const sorted = sortRecords(customers(1, 1), { pageBytes: 999, forgotten: run.forgotten })
    await mirror.savePages(run, [{ ...sorted, page: 1 }], nowMs)
    return mirror.finishRun(run, scanEnding({}), nowMs)
  })
  expect(reports).toMatchObject([
    { suppressed: 1, missing: 1, held: 0 },
    { suppressed: 1, removed: 1, held: 0 },
  ])
})
