import { isRoundCap } from '../scan/findings.ts'
import { type Seam, seamBetween } from '../scan/seam.ts'
import { isDoubtful, startOf } from '../scan/window.ts'
import { clockWords, count, grouped } from '../text/wording.ts'
import type { Answers } from './questions.ts'

/** Whether an assumption holds. `copes`: it does not, and a run copes with that; `fails`: a run proves or removes less. */
type State = 'holds' | 'copes' | 'fails' | 'unknown'

type Judgement = [state: State, found: string, follows?: string]

/** What was found of each assumption, and what follows for the configuration and for what a run can prove. */
export function judge(answers: Answers) {
  return ASSUMPTIONS.map(([assumption, asked, judgementOf]) => {
    const [state, found, follows = null] = judgementOf(answers)
    return { assumption, asked, state, found, follows }
  })
}

const ASSUMPTIONS: readonly [assumption: string, asked: string, judgementOf: (answers: Answers) => Judgement][] = [
  ['page size', 'the first page, as configured', pageSize],
  ['other sizes', 'windows between two pages', otherSizes],
  ['order', 'ids and times on all pages', order],
  ['stable order', 'rows read twice, in two sizes', stableOrder],
  ['total', 'the last page, a wide search', total],
  ['records', 'the ids of all rows', records],
  ['answers', 'every page', pagesAnswered],
  ['search', 'a listed and a made-up text', search],
  ['rate limit', 'headers and refusals', rateLimit],
  ['caches', 'page 1 twice, every Age', caches],
  ['clock', 'every Date', clock],
]

function pageSize({ findings: { size: asked }, size, pages: [first] }: Answers): Judgement {
  const found = `${asked} is ${first?.asked.size === asked ? `served as ${size}` : 'refused'}`
  return size === asked ? ['holds', `${size} is served`] : ['copes', found, `set pageSize: ${size}`]
}

function otherSizes({ between }: Answers): Judgement {
  const served = between.filter(({ window: { asked, read } }) => read?.window.size === asked.size)
  const found = `${served.length} of ${between.length} were served`
  if (between.length === 0) return ['unknown', 'there is one page']
  if (served.length > 1 || served.length === between.length) return ['holds', found]
  return ['fails', found, 'pages cannot overlap: no run is proven; scan: plain reads the list']
}

function order({ findings: { witnesses }, size, pages: [first] }: Answers): Judgement {
  const by = witnesses.believed(size)
  if (first?.read?.total === first?.rows.length) return ['holds', 'there is one page', 'that page proves a run']
  if (by !== undefined) return ['holds', `by ${by}`, 'runs can be proven']
  return ['fails', 'neither by id nor by created_at', 'runs are settled at best: searches have to confirm removals']
}

function stableOrder({ findings: { witnesses }, size, pages, between }: Answers): Judgement {
  const seams = seamsIn(between)
  const found = `as before in ${seams.filter(({ firm }) => firm).length} of ${seams.length} windows`
  if (seams.length === 0) return ['unknown', 'no row was read twice']
  if (witnesses.believed(size) === undefined)
    return isSteady(seams) ? ['holds', found] : ['fails', found, 'runs are unproven: ask the service for a total order']
  // In order of creation, only rows of one time can change places.
  if (!seams.some(({ reordered }) => reordered)) return ['holds', found]
  const tied = pages.flatMap(({ rows }) => [...Map.groupBy(rows, ({ createdAt }) => createdAt)])
  const largest = Math.max(0, ...tied.map(([time, { length }]) => (time === undefined ? 0 : length)))
  const ties = `${found}: ${largest} rows of a page have one created_at, and no order`
  const follows = 'ask the service to sort by id too: runs need more requests'
  return largest * 2 < size ? ['copes', ties, follows] : ['fails', ties, `${follows}, and may be unproven`]
}

function seamsIn(between: Answers['between']): Seam[] {
  return between.flatMap(({ page, window }) => (page.read && window.read ? seamBetween(page.read, window.read) : []))
}

/** A row that moves while the service is asked spoils one or two. */
function isSteady(seams: readonly Seam[]): boolean {
  return seams.filter(({ firm }) => firm).length * 2 >= seams.length
}

const CUT = 'runs are unproven, and remove no customer: ask the service for the whole list'

function total({ findings, matching, pages }: Answers): Judgement {
  const { total: stated, furthest, greatestTotal, areTotalsAtOdds } = findings
  if (stated === undefined) return ['fails', 'none is stated', 'runs are unproven: ask the service for meta.total']
  const found = grouped(stated)
  if (areTotalsAtOdds) return ['fails', 'it leaps up and down', 'runs are unproven: one of its databases lags behind']
  if (matching !== undefined && matching > greatestTotal)
    return ['fails', `${found}, but a search finds ${grouped(matching)}`, CUT]
  if (furthest > greatestTotal)
    return ['fails', `${found}, and more rows behind`, 'runs are unproven: ask the service for the right total']
  if (pages.at(-1)?.rows.length === 0 && furthest < stated)
    return ['fails', `${found}, but pages end at position ${grouped(furthest)}`, CUT]
  return isRoundCap(stated) ? ['fails', `${found}, where services stop counting`, CUT] : ['holds', found]
}

function records({ pages, between, findings: { rejected } }: Answers): Judgement {
  if (rejected > 0) return ['fails', `${rejected} cannot be read`, 'runs are unproven, and `rejects` shows the records']
  const keys = pages.flatMap(({ read, problem }) => (problem === undefined ? (read?.keys ?? []) : []))
  const twice = keys.length - new Set(keys).size
  // A list that changes meanwhile shows few rows on two pages, and one without an order shows many.
  if (twice > pages.length && isSteady(seamsIn(between))) return ['fails', `${twice} came twice`, 'runs are unproven']
  return ['holds', `${grouped(keys.length)} can be read`]
}

function pagesAnswered({ readings, findings, source: { counters }, failures }: Answers): Judgement {
  // What comes behind the end is of no use to a run, and other judgements are of sizes and caches.
  const wrong = readings.flatMap(({ asked, read, problem }) => {
    if (startOf(asked) >= findings.greatestTotal || /^(unprocessable|cached-answer)$/.test(problem ?? '')) return []
    return problem ?? (read !== undefined && isDoubtful(read) && read.reach < findings.furthest ? 'short-page' : [])
  })
  const found = `${count(wrong.length, 'page')} of no use: ${[...new Set(wrong)].join(', ')}`
  if (wrong.length > 1) return ['fails', found, 'runs may fail or be unproven: look for a proxy in between']
  if (wrong.length > 0) return ['copes', found, 'a run asks again, in another size']
  if (failures > 0) return ['copes', `${failures} of ${counters.requests} failed`, 'a run asks again']
  return ['holds', 'all as asked for']
}

function search({ search: { works, fails } }: Answers): Judgement {
  const [by, not] = [`by ${works.join(', ')}`, `not by ${fails.join(', ')}`]
  if (works.length === 0)
    return fails.length === 0 ? ['unknown', 'not asked'] : ['fails', not, 'removals wait for two proven absences']
  return fails.length === 0
    ? ['holds', by, 'searches confirm removals']
    : ['copes', `${by}; ${not}`, `${by} they confirm removals`]
}

function rateLimit({ limit, perMinute = Infinity, source: { counters } }: Answers): Judgement {
  const stated = limit === 0 ? 'no header states it' : `X-RateLimit-Limit: ${limit}`
  const follows = `set rateLimit.requestsPerMinute${limit === 0 ? ' lower' : `: ${limit}, if that is a minute's`}`
  if (counters.throttled > 0) return ['copes', `${stated}; ${counters.throttled} × 429`, follows]
  return limit === 0 || perMinute <= limit ? ['holds', `${stated}, no 429`] : ['holds', stated, follows]
}

function caches({ readings, ageSeconds }: Answers): Judgement {
  const old = readings.filter(({ problem }) => problem === 'cached-answer').length
  const age = `up to ${grouped(ageSeconds)} s old`
  const follows = 'have the cache pass these requests on'
  if (old > 0) return ['fails', `${count(old, 'answer')} from before, ${age}`, `${follows}: old pages are not used`]
  return ageSeconds > 0 ? ['copes', age, follows] : ['holds', 'no answer is old']
}

function clock({ source: { clockOffsetMs, clockCorrectionMs } }: Answers): Judgement {
  const found = clockWords(clockOffsetMs)
  if (clockOffsetMs === undefined) return ['unknown', found]
  return clockCorrectionMs === 0 ? ['holds', found] : ['copes', found, 'learnt by itself; set the one that is wrong']
}
