import { existsSync, readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Mirror } from '../src/store/mirror.ts'
import { type PrivacyPolicy, privacyPolicy } from '../src/privacy/privacy-policy.ts'
import { mirrorOrganization } from '../src/sync/mirror-organization.ts'
import { customerId, MINUTE_MS, START_MS } from './support/builders.ts'
import { listedSource, mirroring } from './support/listed-source.ts'
import { aMirror, rowsOf } from './support/mirror-file.ts'
import { seeds } from './support/seeds.ts'

const DOCUMENTED = ['name', 'username', 'email', 'phone', 'address', 'company_name', 'language', 'timezone']
/** Names of other fields, some of which spell another in another way, or belong to every object. */
const OTHERS = ['vip', 'VIP', 'Phone', 'companyName', 'fax no', '__proto__', 'constructor', 'toString', 'extra', '7']
const NAMES = [...DOCUMENTED, ...OTHERS]
const KEYS = ['a made-up key with more than 32 characters', 'another made-up key with more than 32 characters']

/** A record with a value for some fields, as an id and a way to send the value of each. */
type Drawn = { n: number; fields: { name: string; form: Form }[] }
const FORMS = ['text', 'odd text', 'number', 'null', 'list', 'object', 'long'] as const
type Form = (typeof FORMS)[number]

type DrawnPolicy = { drop: string[]; hash: string[]; key: number }
type Night = { list: Drawn[]; policy: DrawnPolicy; stopAfter: number | undefined }

const field = fc.record({
  name: fc.constantFrom(...NAMES),
  form: fc.oneof({ weight: 6, arbitrary: fc.constant<Form>('text') }, fc.constantFrom(...FORMS)),
})
const record = fc.record({ n: fc.integer({ min: 0, max: 6 }), fields: fc.array(field, { maxLength: 6 }) })
const policy = fc
  .record({
    ways: fc.dictionary(
      fc.constantFrom('vip', 'fax_no', ...NAMES.filter((name) => name !== '7')),
      fc.constantFrom('drop', 'hash'),
      { maxKeys: 6 },
    ),
    key: fc.integer({ min: 0, max: 1 }),
  })
  .map(({ ways, key }): DrawnPolicy => {
    const named = (way: string) => Object.entries(ways).flatMap(([name, is]) => (is === way ? [name] : []))
    const drop = named('drop')
    const dropped = new Set(drop.map(plain))
    return { drop, hash: named('hash').filter((name) => !dropped.has(plain(name)) && name !== 'extra'), key }
  })
const night = fc.record({
  list: fc.array(record, { maxLength: 8 }),
  policy,
  stopAfter: fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined }),
})

test('whatever the policies were and wherever runs were stopped, no hidden value stands anywhere in the file', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(night, { minLength: 1, maxLength: 4 }), async (nights) => {
      const mirror = await aMirror()
      const told = await play(mirror, nights)
      const last = nights.at(-1)
      if (last === undefined) return
      const bytes = ['', '-wal', '-shm'].map((end) =>
        existsSync(mirror.file + end) ? readFileSync(mirror.file + end, 'latin1') : '',
      )
      const shown = [...bytes, ...told.reports].join('')
      const hidden = told.tokens.filter(({ name }) => isHidden(last.policy, name)).map(({ token }) => token)

      expect(hidden.filter((token) => shown.includes(token))).toEqual([])
      expect(shown).not.toContain('with more than 32 characters')
      // The same as in a mirror that never had another policy.
      const fresh = await aMirror()
      await play(fresh, [{ ...last, stopAfter: undefined }], nights.length)
      const columns = `id, created_at, extra, ${DOCUMENTED.join(', ')}`
      const kept = new Map(rowsOf(mirror.file, `SELECT ${columns} FROM customers`).map((row) => [row['id'], row]))
      for (const row of rowsOf(fresh.file, `SELECT ${columns} FROM customers`)) expect(kept.get(row['id'])).toEqual(row)
    }),
    { numRuns: seeds(300, { least: 6, every: 50 }), seed: 15 },
  )
})

/** Plays the nights, each until its run is complete, and returns what the service sent and what the runs reported. */
async function play(mirror: Mirror, nights: readonly Night[], of = nights.length) {
  const tokens: { name: string; token: string }[] = []
  const reports: string[] = []
  let hour = 0
  for (const [at, { list, policy: drawn, stopAfter }] of nights.entries()) {
    const number = of - nights.length + at
    const records = list.map((one, place) => sent(one, `${number}q${place}`, tokens))
    const run = async (stopping: number | undefined) => {
      hour += 1
      const nowMs = START_MS + hour * 60 * MINUTE_MS
      const stop = new AbortController()
      const settings = {
        scan: 'chain' as const,
        pageSize: 100,
        privacy: policyOf(drawn),
        now: () => nowMs,
        signal: stop.signal,
      }
      const { report } = await mirrorOrganization(
        mirroring(stoppedAfter(mirror, stopping, stop), listedSource(records), settings),
      )
      reports.push(JSON.stringify(report))
      return report.status
    }
    const isLast = at === nights.length - 1
    // A night that is stopped may be left to the next one, and its policy with it.
    const status = await run(stopAfter)
    if (isLast && status !== 'complete') await run(undefined)
  }
  return { tokens, reports }
}

/** The mirror, with `stop` aborted after so many steps of a change of policy. */
function stoppedAfter(mirror: Mirror, steps: number | undefined, stop: AbortController): Mirror {
  let done = 0
  return {
    ...mirror,
    applyPrivacy: async (run, nowMs) => {
      const isMore = await mirror.applyPrivacy(run, nowMs)
      done += 1
      if (isMore && done === steps) stop.abort()
      return isMore
    },
  }
}

function policyOf({ drop, hash, key }: DrawnPolicy): PrivacyPolicy {
  return privacyPolicy({ drop, hash, key: hash.length === 0 ? undefined : KEYS[key] })
}

/** A record whose values hold tokens that stand nowhere else. */
function sent({ n, fields }: Drawn, place: string, tokens: { name: string; token: string }[]): unknown {
  const entries = fields.map(({ name, form }, at): [string, unknown] => {
    const token = `tok${place}q${at}end`
    tokens.push({ name, token })
    return [name, valueOf(form, token)]
  })
  // As JSON, so that __proto__ is a field like any other.
  const texts = [['id', n === 0 ? 'no UUID' : customerId(n)], ['created_at', '2024-01-02T03:04:05Z'], ...entries]
  return JSON.parse(`{${texts.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`)
}

function valueOf(form: Form, token: string): unknown {
  if (form === 'odd text') return `\ud800 ${token}\0é`
  if (form === 'number') return 4_000_000_000 + token.length
  if (form === 'null') return null
  if (form === 'list') return [[token], null]
  if (form === 'object') return { [token]: token }
  return form === 'long' ? token.repeat(9000) : token
}

/** Told apart from the program: the names that mean a field, and those that the policy lists. */
function isHidden({ drop, hash }: DrawnPolicy, name: string): boolean {
  if (drop.includes('extra') && !DOCUMENTED.includes(name)) return true
  const listed = [...drop, ...hash]
  if (DOCUMENTED.includes(name)) return listed.includes(name)
  return listed.some((other) => other !== 'extra' && plain(other) === plain(name))
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[-_ ]/g, '')
}
