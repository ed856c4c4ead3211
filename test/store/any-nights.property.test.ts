import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { sqlTime } from '../../src/store/port/sql.ts'
import { type Fate, fatesOf, horizon, type Night, night, prune, quickRun } from './nights.ts'
import { aCustomer, customerId, customers, type SentRecord, START_MS, DAY_MS } from '../support/builders.ts'
import { Followers } from '../support/followers.ts'
import { aMirror, type Row, rowsOf } from '../support/mirror-file.ts'
import { openReader } from '../support/mirror-reader.ts'
import { seeds } from '../support/seeds.ts'

const KNOWN = [1, 2, 3, 4, 5, 6]
const COMES = [
  ...['listed', 'renamed', 'nameless', 'moved', 'rejected', 'twice', 'absent', 'absent', 'absent', 'absent'],
] as const satisfies Comes[]

/** What a run says of its scan. Those behind the first three prove no absence. */
const SCANS = {
  ...{ proven: { proof: 'proven' }, settled: { proof: 'settled' }, whole: { proof: 'unproven', isWhole: true } },
  unproven: { proof: 'unproven' },
  plain: { proof: 'unproven', ending: { reasons: ['plain-scan'], readToEnd: true } },
  failed: { proof: 'unproven', ending: { status: 'failed', reasons: ['failed'] } },
  interrupted: { proof: 'unproven', ending: { status: 'interrupted', reasons: ['interrupted'] } },
} as const satisfies Record<string, Night>
type Scan = keyof typeof SCANS

const aNight = fc.record({
  /** What comes of each customer; the last one is always listed, so that the list is never empty. */
  comes: fc.tuple(...KNOWN.map(() => fc.constantFrom<Comes>(...COMES))),
  scan: fc.constantFrom<Scan>('proven', 'settled', 'whole', 'whole', 'unproven', 'plain', 'failed', 'interrupted'),
  confirmed: fc.subarray(KNOWN),
  /** What a quick run after that night finds; without it, there is none. */
  quick: fc.option(fc.record({ gone: fc.subarray(KNOWN), listed: fc.subarray(KNOWN) }), { nil: undefined, freq: 2 }),
})

/** Listed every night, so that no night lacks all customers that were listed before: those who return are not among them. */
const ALWAYS = KNOWN.map((n) => 1000 + n)

type QuickRun = { gone: number[]; listed: number[] }

/** `twice`: as before, and once more in a record that is rejected. */
type Comes = 'listed' | 'renamed' | 'nameless' | 'moved' | 'absent' | 'rejected' | 'twice'

test('over any nights and quick runs, every customer is missing and removed exactly by the rules, updated_at moves with each row and no other, and history has what readers found, also from a horizon on', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 3 }),
      fc.array(aNight, { minLength: 4, maxLength: 12 }),
      async (after, nights) => {
        const mirror = await aMirror()
        const model = KNOWN.map((n) => new Modelled(n, after))
        const records = aService()
        const snapshots: Snapshot[] = []
        const reader = openReader(mirror.file)
        const followers = ['acme', 'globex'].map((organization) => new Followers(organization))
        const look = (at: number) => {
          expect(fatesOf(mirror, KNOWN)).toEqual(model.map(({ fate }) => fate))
          expect(rowsOf(mirror.file, OPEN_REJECTS)).toEqual(
            model.flatMap(({ isRejected, n }) => (isRejected ? [{ record_id: customerId(n) }] : [])),
          )
          expect(followers.flatMap((all) => [...all.untruths(reader), ...all.asBefore])).toEqual([])
          snapshots.push({ time: sqlTime(START_MS + at * DAY_MS), active: rowsOf(mirror.file, ACTIVE) })
        }
        await night(mirror, 0, records(KNOWN.map(() => 'listed')))
        look(0)

        for (const [index, { comes, scan, confirmed, quick }] of nights.entries()) {
          const before = model.map(({ fate }) => fate)
          // Another organization, whose customers have the same ids.
          await night(mirror, index + 1, customers(1, 6, { name: `Night ${index}` }), { organization: 'globex' })
          const report = await night(mirror, index + 1, records(comes), {
            ...SCANS[scan],
            rule: { after, maxShare: 0 },
            confirmed: confirmed.map(customerId),
          })
          for (const [place, customer] of model.entries()) {
            customer.pass(comes[place] ?? 'absent', scan, confirmed.includes(customer.n))
          }

          look(index + 1)
          const counted = model.filter((customer, place) => customer.marked && before[place] !== 'removed')
          expect(report).toMatchObject({
            held: 0,
            missing: counted.filter(({ fate }) => fate === 'missing').length,
            removed: counted.filter(({ fate }) => fate === 'removed').length,
            returned: before.filter((fate, place) => fate === 'removed' && model[place]?.fate === 'listed').length,
          })
          if (quick === undefined) continue
          const received = [...quick.listed, ...ALWAYS].map((n) => aCustomer(n))
          await quickRun(mirror, index + 1, received, { gone: quick.gone })
          for (const customer of model) customer.passQuickRun(quick)
          look(index + 1.5)
        }
        for (const { time, active } of snapshots) expect(rowsOf(mirror.file, HISTORY_AT, time, time)).toEqual(active)
        reader.close()
        const daily = rowsOf(mirror.file, DAILY)
        await prune(mirror, { changesMs: 3 * DAY_MS }, nights.length + 1)
        const { history_from: from = '' } = horizon(mirror) ?? {}
        for (const { time, active } of snapshots.filter((snapshot) => snapshot.time >= String(from)))
          expect(rowsOf(mirror.file, HISTORY_AT, time, time)).toEqual(active)
        expect(rowsOf(mirror.file, DAILY)).toEqual(daily.filter(({ day }) => String(day) >= String(from).slice(0, 10)))
      },
    ),
    { numRuns: seeds(200, { least: 4, every: 70 }), unbiased: true },
  )
})

const MARKING: ReadonlySet<Scan> = new Set(['proven', 'settled', 'whole'])
const ENDED_EARLY: ReadonlySet<Scan> = new Set(['failed', 'interrupted'])

class Modelled {
  readonly n: number
  readonly #after: number
  fate: Fate = 'listed'
  /** Whether the last night marked it missing or removed. */
  marked = false
  #proven = 0
  #scans = 0
  #whole = 0
  /** Whether there is an open reject of its record. */
  isRejected = false

  constructor(n: number, after: number) {
    this.n = n
    this.#after = after
  }

  pass(comes: Comes, scan: Scan, confirmed: boolean): void {
    this.marked = false
    // A reject stays open after a run that did not end well, and after a scan that proves nothing if its record did not come.
    const isOpen = comes === 'rejected' || comes === 'twice'
    const isResolved = ['proven', 'settled', 'plain'].includes(scan) || (comes !== 'absent' && !ENDED_EARLY.has(scan))
    if (isOpen || isResolved) this.isRejected = isOpen
    if (comes !== 'absent') return this.#isSeen()
    if (!MARKING.has(scan) || this.fate === 'removed') return
    this.#whole += 1
    if (scan !== 'whole') this.#scans += 1
    if (scan === 'proven') this.#proven += 1
    const isProven = scan === 'proven' && this.#proven >= this.#after
    const often = isProven || (confirmed && (this.#scans >= this.#after || this.#whole > this.#after))
    this.marked = true
    this.fate = often ? 'removed' : 'missing'
  }

  /** A quick run that did not receive a customer counts no absence, and removes none. It does not know where the record of a reject stands. */
  passQuickRun({ gone, listed }: QuickRun): void {
    if (listed.includes(this.n)) {
      this.isRejected = false
      this.#isSeen()
    } else if (gone.includes(this.n) && this.fate === 'listed' && !this.isRejected) this.fate = 'missing'
  }

  #isSeen(): void {
    this.fate = 'listed'
    this.#proven = 0
    this.#scans = 0
    this.#whole = 0
  }
}

/** Lists night after night: who comes unchanged is sent as before. Some more customers keep a list from ever being empty. */
function aService(): (came: readonly Comes[]) => SentRecord[] {
  const sent = KNOWN.map((n) => aCustomer(n))
  let turn = 0
  return (came) => {
    for (const [place, how] of came.entries()) sent[place] = { ...sent[place], ...CHANGED[how]?.((turn += 1)) }
    const listed = sent.flatMap((record, place) => {
      if (came[place] === 'absent') return []
      const rejected = { ...record, name: ['Two', 'Names'] }
      return { rejected: [rejected], twice: [record, rejected] }[String(came[place])] ?? [record]
    })
    return [...listed, ...ALWAYS.map((n) => aCustomer(n))]
  }
}

const CHANGED: Partial<Record<Comes, (turn: number) => SentRecord>> = {
  renamed: (turn) => ({ name: `Name ${turn} "é"` }),
  nameless: () => ({ name: null }),
  moved: (turn) => ({ address: `${turn} Other Street`, extra_field: turn % 3 }),
}

const VALUES =
  'organization, id, name, username, email, phone, address, company_name, language, timezone, created_at, extra'
const ACTIVE = `SELECT ${VALUES} FROM active_customers ORDER BY organization, id`
const HISTORY_AT = `SELECT ${VALUES} FROM customers_history
  WHERE valid_from <= ? AND (valid_to IS NULL OR valid_to > ?) ORDER BY organization, id`
const OPEN_REJECTS = `SELECT record_id FROM rejects
  WHERE organization = 'acme' AND resolved_at IS NULL ORDER BY record_id`
const DAILY = `SELECT * FROM customers_daily WHERE organization = 'acme' ORDER BY day`

type Snapshot = { time: string; active: Row[] }
