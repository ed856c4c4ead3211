import { expect, test } from 'vitest'
import { ContractBroken } from '../../src/errors/errors.ts'
import type { Mirror } from '../../src/store/mirror.ts'
import { type Mirroring, mirrorOrganization } from '../../src/sync/mirror-organization.ts'
import { customers, MINUTE_MS, START_MS } from '../support/builders.ts'
import { listedSource, mirroring, pageOfList, sourceOf } from '../support/listed-source.ts'
import { aMirror, dump, rowsOf, valueOf } from '../support/mirror-file.ts'

test.each(['chain', 'plain'] as const)(
  'the customers of another organization, which is named, end the run before anything is written (%s)',
  async (scan) => {
    const mirror = await aMirror()
    await sync(mirror, 'initech', customers(1, 30))
    await sync(mirror, 'globex', customers(31, 300))
    const before = dump(mirror.file, ['customers', 'changes', 'rejects'])

    const { report, error } = await sync(mirror, 'acme', customers(1, 300), { scan, concurrency: 4 })

    const said = /^acme: 20 of 20 customers .* most of them under globex\..*rename globex acme'/
    expect(error).toBeInstanceOf(ContractBroken)
    expect(report).toMatchObject({
      ...{ status: 'failed', received: 0, inserted: 0, pages: 0, requests: 1 },
      error: { code: 'tenant-mixup', message: expect.stringMatching(said) },
    })
    expect(dump(mirror.file, ['customers', 'changes', 'rejects'])).toEqual(before)
    expect(valueOf(mirror.file, 'SELECT count(*) FROM windows')).toBe(0)
    expect(await mirror.listRuns({ organization: 'acme', limit: 5 })).toEqual([report])
  },
)

test.each([
  ['one more than half', 51, 'tenant-mixup'],
  ['exactly half', 50, undefined],
  ['none', 0, undefined],
])('%s of the first page known elsewhere', async (_, foreign, code) => {
  const mirror = await aMirror()
  await sync(mirror, 'globex', customers(1, 200))

  const { report } = await sync(mirror, 'acme', customers(201 - foreign, 300 - foreign))

  expect(report.error?.code).toBe(code)
  expect(report.inserted).toBe(code === undefined ? 100 : 0)
})

test.each([1, 8])(
  'one answer with the customers of another organization is asked for again (%i at once)',
  async (concurrency) => {
    const mirror = await aMirror()
    await sync(mirror, 'globex', customers(1001, 1500))
    const own = customers(1, 480)
    for (const newcomers of [customers(481, 500), customers(501, 520)]) {
      own.push(...newcomers)
      const mixed = { left: 1 }
      const source = sourceOf(async (window) =>
        pageOfList(window.page === 3 && mixed.left-- > 0 ? customers(1001, 1500) : own, window),
      )
      const told = { organization: 'acme', scan: 'chain', concurrency, pageSize: 100 } as const
      const { report } = await mirrorOrganization(mirroring(mirror, source, told))
      expect(report).toMatchObject({ status: 'complete', received: expect.any(Number) })
      expect(mixed.left).toBeLessThan(0)
      const ids = rowsOf(mirror.file, `SELECT id FROM customers WHERE organization = 'acme' ORDER BY id`)
      expect(ids).toEqual(own.map(({ id }) => ({ id })))
    }
  },
)

test('what matters is the first page: customers of another organization further down are let through', async () => {
  const mirror = await aMirror()
  await sync(mirror, 'globex', customers(101, 500))

  const { report } = await sync(mirror, 'acme', customers(1, 500))

  expect(report).toMatchObject({ status: 'complete', inserted: 500 })
  // A few pages are asked for again, and then it is no mistake of single answers.
  expect(report.requests).toBeLessThan(20)
})

test('customers that this organization has itself are not foreign, even if another has them too', async () => {
  const mirror = await aMirror()
  await sync(mirror, 'acme', customers(1, 50))
  // Half of them are its own, so it is let in, and from then on both have the same fifty.
  await sync(mirror, 'globex', [...customers(1001, 1050), ...customers(1, 50)])

  for (const id of ['acme', 'globex']) {
    const { report } = await sync(mirror, id, customers(1, 50, { name: 'Renamed' }))
    expect(report).toMatchObject({ status: 'complete', updated: 50 })
  }
})

test('rejected records count by their ids, and a record without an id does not count', async () => {
  const mirror = await aMirror()
  await sync(mirror, 'globex', customers(1, 100))
  const bad = { name: ['Two', 'Names'] }

  expect((await sync(mirror, 'acme', customers(1, 100, bad))).report.error?.code).toBe('tenant-mixup')
  expect((await sync(mirror, 'acme', customers(1, 100, { id: 'unreadable' }))).report.error?.code).toBe('bad-answer')
})

test('a run that continues an interrupted one checks its customers too', async () => {
  const mirror = await aMirror()
  await sync(mirror, 'globex', customers(1001, 2000))
  const stop = new AbortController()
  const onProgress = () => stop.abort()
  await sync(mirror, 'acme', customers(1, 1000), { signal: stop.signal, onProgress, concurrency: 1 })

  const { report } = await sync(mirror, 'acme', customers(1001, 2000))

  expect(report).toMatchObject({ status: 'failed', inserted: 0, error: { code: 'tenant-mixup' } })
  expect(valueOf(mirror.file, `SELECT count(*) FROM customers WHERE organization = 'acme'`)).toBe(100)
})

let minutes = 0

/** One run of an organization over a list, each a minute after the one before. */
function sync(mirror: Mirror, organization: string, list: readonly unknown[], overrides: Partial<Mirroring> = {}) {
  minutes += 1
  const nowMs = START_MS + minutes * MINUTE_MS
  const usual = { organization, scan: 'chain', pageSize: 100, now: () => nowMs } as const
  return mirrorOrganization(mirroring(mirror, listedSource(list), { ...usual, ...overrides }))
}
