import { expect, test } from 'vitest'
import { mirrorOrganization } from '../../src/sync/mirror-organization.ts'
import { aSource } from '../source/a-source.ts'
import { aRecord, faultServer, json, type Reply } from '../support/fault-server.ts'
import { mirroring } from '../support/listed-source.ts'
import { aMirror, rowsOf, valueOf } from '../support/mirror-file.ts'

const DAY_MS = 86_400_000
const FIRST_NIGHT_MS = 1_700_000_000_000

type Window = { page: number; size: number }
type Cache = { isOld: (window: Window) => boolean; headers: (nowMs: number) => Record<string, string> }

/** Headers of an answer that a cache has kept for three days, as caches send them. */
const KEPT = {
  'its age': () => ({ Age: '259200' }),
  'its date': (nowMs: number) => ({ Date: new Date(nowMs - 3 * DAY_MS).toUTCString() }),
  both: (nowMs: number) => ({ Age: '259200', Date: new Date(nowMs - 3 * DAY_MS).toUTCString() }),
}

/** A service of 250 customers, ten of them new, behind a cache that keeps the list from before those ten. Night by night. */
async function behindCache() {
  const now = Array.from({ length: 250 }, (_, index) => aRecord(index + 1))
  const before = now.slice(0, 240)
  let [nowMs, cache]: [number, Cache | undefined] = [FIRST_NIGHT_MS, undefined]
  const serve: Reply = (response, request) => {
    const { page, size } = request
    const isOld = cache?.isOld(request) === true && !request.url.searchParams.has('search')
    const rows = isOld ? before : request.url.searchParams.has('search') ? [] : now
    const meta = { current_page: page, per_page: size, total: rows.length }
    const headers = isOld && cache !== undefined ? cache.headers(nowMs) : { Date: new Date(nowMs).toUTCString() }
    const data = rows.slice(size * (page - 1), size * page)
    return json(200, { success: true, data, meta }, headers)(response, request)
  }
  const server = await faultServer(serve)
  const mirror = await aMirror()
  const night = async (next?: Cache, settings: Parameters<typeof mirroring>[2] = {}) => {
    cache = next
    nowMs += DAY_MS
    const clock = () => nowMs
    const { source } = aSource(server, {}, { now: clock, monotonicMs: clock })
    const terms = { scan: 'chain', pageSize: 100, now: clock, ...settings } as const
    return (await mirrorOrganization(mirroring(mirror, source, terms))).report
  }
  return { mirror, server, night, [Symbol.asyncDispose]: () => server.close() }
}

const goneFrom = ({ file }: { file: string }) =>
  rowsOf(file, 'SELECT id FROM customers WHERE removed_at IS NOT NULL OR missing_since IS NOT NULL')

test.each(Object.entries(KEPT))(
  'a cached list, recognized by %s, removes and changes nothing night after night, and is reported as cached',
  async (_, headers) => {
    await using service = await behindCache()
    expect(await service.night()).toMatchObject({ proof: 'proven', inserted: 250 })
    for (let night = 1; night <= 3; night += 1) {
      const report = await service.night({ isOld: () => true, headers })
      expect(report).toMatchObject({ proof: 'unproven', missing: 0, removed: 0, held: 0, updated: 0, inserted: 0 })
      expect(report.reasons).toContain('cached-answer')
    }
    expect(goneFrom(service.mirror)).toEqual([])
    expect(valueOf(service.mirror.file, 'SELECT read_as_of FROM freshness')).toBe('2023-11-15 22:13:20.000')
    expect(await service.night()).toMatchObject({ proof: 'proven', reasons: [], missing: 0 })
  },
)

test.each(Object.entries(KEPT))(
  'a cached page, recognized by %s, is read in another size, and the run is proven',
  async (_, headers) => {
    await using service = await behindCache()
    await service.night()
    for (const kept of ['1/100', '2/98', '3/97']) {
      const report = await service.night({ isOld: ({ page, size }) => `${page}/${size}` === kept, headers })
      expect(report).toMatchObject({ proof: 'proven', reasons: [], missing: 0, duplicates: expect.any(Number) })
    }
    expect(goneFrom(service.mirror)).toEqual([])
  },
)
