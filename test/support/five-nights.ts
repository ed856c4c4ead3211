import type { Mirror } from '../../src/model/mirror.ts'
import { join } from 'node:path'
import { DAY_MS, scanEnding } from '../store/nights.ts'
import { aCustomer, customers, MINUTE_MS, START_MS } from './builders.ts'
import { aMirror, mirrorPages } from './mirror-file.ts'
import { aPlan, publishAll } from './publishing.ts'
import { temporaryFolder } from './temp-folder.ts'

/** Values that other programs may get wrong. */
const ODD = aCustomer(6, {
  name: 'Ünïcode "quoted", comma;\nsecond line 花子',
  phone: undefined,
  language: undefined,
  created_at: 'long ago',
  vip: { level: 1 },
})

const RENAMED = aCustomer(1, { name: 'Renamed Person', language: 'fr' })

/** What acme and globex list night by night, in pages, and how much a clock that is wrong is ahead. */
const NIGHTS: readonly { acme: unknown[][]; globex: unknown[][]; aheadMs?: number }[] = [
  { acme: [customers(1, 5), [ODD], customers(7, 60, { language: 'de' })], globex: [customers(101, 110)] },
  // The clock is wrong, and put right before the next night. 2 and 3 left, 61 is new.
  { acme: [[RENAMED, ...customers(4, 5), ODD], customers(7, 61)], globex: [customers(101, 110)], aheadMs: 3 * DAY_MS },
  // 2 and 3 are removed; 4 left.
  { acme: [[RENAMED, aCustomer(5), ODD], customers(7, 61)], globex: [customers(101, 109)] },
  // 2 returns, 4 is removed, 62 and 63 are new; in globex 110 is removed.
  { acme: [[RENAMED, aCustomer(2), aCustomer(5), ODD], customers(7, 63)], globex: [customers(101, 109)] },
  // 3 returns with another name; 5 left.
  { acme: [[RENAMED, aCustomer(2), aCustomer(3, { name: 'Returned Person' }), ODD], customers(7, 63)], globex: [] },
]

export const HOW_MANY_NIGHTS = NIGHTS.length

/** Mirrors one of the five nights: customers come, change, leave, are removed and return. */
export async function playNight(mirror: Mirror, n: number, { startMs = START_MS } = {}): Promise<void> {
  const { acme = [], globex = [], aheadMs = 0 } = NIGHTS[n] ?? {}
  const atMs = startMs + n * DAY_MS + aheadMs
  const ending = scanEnding({})
  await mirrorPages(mirror, acme, { organization: 'acme', atMs, ending })
  if (globex.length > 0) await mirrorPages(mirror, globex, { organization: 'globex', atMs: atMs + MINUTE_MS, ending })
}

/** A copy of a mirror after the five nights, or the first of them. */
export async function publishedCopy(options: { nights?: number; startMs?: number } = {}): Promise<string> {
  const mirror = await aMirror()
  const { nights = HOW_MANY_NIGHTS } = options
  for (let n = 0; n < nights; n += 1) await playNight(mirror, n, options)
  return publishedFrom(mirror)
}

/** The copy of a mirror as it is now; a file that is given is replaced. */
export function publishedFrom(
  { file: mirror }: Mirror,
  file = join(temporaryFolder(), 'copies', 'customers.db'),
): string {
  publishAll(aPlan(mirror, { file }))
  return file
}
