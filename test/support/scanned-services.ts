import { ListScan } from '../../src/scan/list-scan.ts'
import { endOf, startOf, type Window, type WindowAnswer, windowKey } from '../../src/scan/window.ts'
import { dice, type Dice } from './dice.ts'
import { drive, type Service } from './drive-scan.ts'
import { atSecond, KnownList, type Order } from './known-list.ts'

export type Answer = ReturnType<Service['answer']>

/** What a service answers; `answered` counts its answers from 0. */
export type Serve = (list: KnownList, window: Window, answered: number) => Answer

export type ScanOptions = {
  size?: number
  order?: Order
  createdSecondOf?: (serial: number) => number
  pageSize?: number
  parallel?: number
  isPlain?: boolean
  seed?: number
  /** The scan is interrupted after so many answers, and continued with what the mirror kept of them. */
  stopAfter?: number
  meanwhile?: (list: KnownList, luck: Dice) => unknown
  kept?: (reads: WindowAnswer[]) => WindowAnswer[]
  between?: (list: KnownList, luck: Dice, answered: number) => unknown
}

/** A scan of the list of a service: `lost` customers who were listed throughout are on no page, `lostInPlace` of them kept their places. */
export function scanOf(serve: Serve, options: ScanOptions = {}) {
  const { size = 950, order = 'id asc', pageSize = 100, parallel = 1, isPlain = false, seed = 7 } = options
  const { stopAfter, meanwhile, kept = (reads) => reads, createdSecondOf = (serial) => serial } = options
  const luck = dice(seed)
  const list = new KnownList(luck, { size, order, createdAtOf: (serial) => atSecond(createdSecondOf(serial)) })
  let answered = 0
  const service = {
    between: () => options.between?.(list, luck, answered),
    answer: (window: Window) => serve(list, window, answered++),
  }
  const riding = { dice: luck, parallel }
  const begun = stopAfter && drive(new ListScan({ pageSize, isPlain }), service, { ...riding, stopAfter })
  meanwhile?.(list, luck)
  const recalled = begun ? kept(asHandedBack(begun.reads)) : []
  const scan = new ListScan({ pageSize, isPlain, recalled })
  const ride = drive(scan, service, riding)
  if (begun) ride.requests += begun.requests
  for (const { id } of recalled.flatMap(({ rows }) => rows)) if (id !== undefined) ride.ids.add(id)
  const isUnread = (id: string) => !ride.ids.has(id)
  const [lost = 0, lostInPlace = 0] = [false, true].map(
    (inPlace) => list.survivors({ inPlace }).filter(isUnread).length,
  )
  return { ...ride, certificate: scan.certificate(), lost, lostInPlace, size }
}

/** Answers as a mirror hands them back: the last one of each window, in the order of their positions. */
function asHandedBack(answers: readonly WindowAnswer[]): WindowAnswer[] {
  const last = new Map(answers.map((answer) => [windowKey(answer.window), answer]))
  return [...last.values()].toSorted((one, other) => startOf(one.window) - startOf(other.window))
}

export const honest: Serve = (list, window) => list.answer(window)

export function notFound(window: Window): WindowAnswer {
  return { window, rows: [], total: undefined, perPage: window.size, beyondEnd: true }
}

function covers(window: Window, position: number): boolean {
  return startOf(window) <= position && position < endOf(window)
}

/** Serves a page of another size than asked for, and says so. */
function resized(list: KnownList, window: Window, size: number): WindowAnswer {
  return { ...list.answer({ page: window.page, size }), window, perPage: size }
}

function replaced(list: KnownList, window: Window, page: number): WindowAnswer {
  return { ...list.answer({ ...window, page }), window }
}

/** Without a total, an empty page, or a 404, is the only sign of the end. */
function withoutTotal(answer: WindowAnswer): WindowAnswer {
  return { ...answer, total: undefined, beyondEnd: answer.window.page > 1 && answer.rows.length === 0 }
}

export const uncounted =
  (serve: Serve): Serve =>
  (list, window, answered) => {
    const answer = serve(list, window, answered)
    return typeof answer === 'string' ? answer : withoutTotal(answer)
  }

/** As far as position `most`, behind which pages are refused in some way, or left empty. */
export const upTo =
  (most: number, behind: (window: Window, answer: WindowAnswer) => Answer, total = Infinity): Serve =>
  (list, window) => {
    const answer = list.answer(window)
    const shown = { ...answer, total: Math.min(total, list.size) }
    if (endOf(window) <= most || list.size <= most) return shown
    const rows = answer.rows.slice(0, Math.max(0, most - startOf(window)))
    return behind(window, { ...shown, rows })
  }

function altered(
  answer: WindowAnswer,
  place: number,
  row: (before: WindowAnswer) => WindowAnswer['rows'][number] | undefined,
) {
  const other = row(answer)
  return place >= 0 && place < answer.rows.length && other !== undefined
    ? { ...answer, rows: answer.rows.with(place, other) }
    : answer
}

/** Which rows are so large that a page of them is an answer too large. */
const heavy =
  (weigh: (position: number) => number): Serve =>
  (list, window) => {
    const [start, end] = [startOf(window), Math.min(list.size, endOf(window))]
    let weight = 0
    for (let at = start; at < end; at += 1) weight += weigh(at)
    return weight > 1000 ? 'too-large' : list.answer(window)
  }

const FIXED = [10, 20, 40, 50, 100]

export const SERVICES: Record<string, Serve> = {
  'an honest one': honest,
  'at most 50 rows a page': (list, window) => resized(list, window, Math.min(50, window.size)),
  '15 rows a page, whatever is asked for': (list, window) => resized(list, window, 15),
  'sizes rounded to tens': (list, window) => resized(list, window, Math.max(10, window.size - (window.size % 10))),
  'sizes rounded, and the size asked for stated': (list, window) => ({
    ...resized(list, window, Math.max(10, window.size - (window.size % 10))),
    perPage: window.size,
  }),
  'at most 60 rows a page, whatever the size stated': (list, window) => {
    const answer = list.answer(window)
    return { ...answer, rows: answer.rows.slice(0, 60) }
  },
  'pages over 50 refused': (list, window) => (window.size > 50 ? 'size-refused' : list.answer(window)),
  'few sizes, and the others refused': (list, window) =>
    FIXED.includes(window.size) ? list.answer(window) : 'size-refused',
  'few sizes, and others answered with too many rows': (list, window) =>
    FIXED.includes(window.size) ? list.answer(window) : 'page-mismatch',
  'few sizes, and page 1 again from the third answer on': (list, window, answered) =>
    FIXED.includes(window.size) ? replaced(list, window, answered > 2 ? 1 : window.page) : 'size-refused',
  'smaller pages from the fourth answer on': (list, window, answered) =>
    answered < 3 ? list.answer(window) : resized(list, window, Math.min(window.size, 15)),
  'no total': uncounted(honest),
  'no total, and the last page again behind the end': (list, window) => {
    const last = Math.ceil(list.size / window.size)
    return { ...withoutTotal(list.answer({ ...window, page: Math.min(window.page, last) })), window }
  },
  'no total, and a page that lacks a row': (list, window) => {
    const answer = withoutTotal(list.answer(window))
    return window.page === 3 ? { ...answer, rows: answer.rows.toSpliced(7, 1) } : answer
  },
  'no total, and a page that is empty once': (list, window, answered) => {
    const answer = withoutTotal(list.answer(window))
    return answered === 3 ? { ...answer, rows: [] } : answer
  },
  'no total in every other answer': (list, window, answered) =>
    answered % 2 === 0 ? list.answer(window) : { ...list.answer(window), total: undefined },
  'a total that grows for ever': (list, window, answered) => ({
    ...list.answer(window),
    total: list.size + 100 * answered,
  }),
  'a total that is too low': (list, window) => ({ ...list.answer(window), total: 50 }),
  'a list that grows for ever': (list, window) => {
    for (let made = 0; made < 1.2 * window.size; made += 1) list.insert()
    return list.answer(window)
  },
  '404 behind the end': (list, window) => (startOf(window) < list.size ? list.answer(window) : notFound(window)),
  'the last page behind the end': (list, window) =>
    startOf(window) < list.size ? list.answer(window) : 'page-mismatch',
  'only empty pages': (list, window) => ({ ...list.answer(window), rows: [] }),
  'an empty list after two pages of it': (list, window, answered) => ({
    ...list.answer(window),
    ...(answered > 1 && { rows: [], total: 0 }),
  }),
  'an error for everything': () => 'hole',
  'a refusal of every size': () => 'size-refused',
  'everything from a cache': () => 'cached-answer',
  'no row from position 240 on': upTo(240, (_, answer) => answer),
  'three poisoned rows': (list, window) =>
    [0, 118, 171].some((poison) => covers(window, poison)) ? 'hole' : list.answer(window),
  'large pages that fail at one place': (list, window) =>
    window.size > 15 && covers(window, 171) ? 'hole' : list.answer(window),
  'a row that is too large': heavy((at) => (at === 171 ? 1001 : 1)),
  'rows of which 40 are too large together': heavy((at) => (at > 150 ? 26 : 1)),
  'a page 2 that is always empty': (list, window) =>
    window.page === 2 ? { ...list.answer(window), rows: [] } : list.answer(window),
  'a page 2 that is never found': (list, window) => (window.page === 2 ? notFound(window) : list.answer(window)),
  'a page 2 that is refused': (list, window) => (window.page === 2 ? 'page-mismatch' : list.answer(window)),
  'a page 3 that repeats page 2': (list, window) =>
    window.page === 3 ? replaced(list, window, 2) : list.answer(window),
  'page 1 under every number': (list, window) => replaced(list, window, 1),
  'more rows than a page holds': (list, window) => ({
    ...list.answer({ page: 1, size: 300 }),
    window,
    perPage: window.size,
  }),
  'a page that is empty twice': (list, window, answered) =>
    answered === 3 || answered === 4 ? { ...list.answer(window), rows: [] } : list.answer(window),
  'a page that is refused once': (list, window, answered) => (answered === 3 ? 'size-refused' : list.answer(window)),
  'an answer that calls the list empty once': (list, window, answered) =>
    answered === 3 ? { ...list.answer(window), rows: [], total: 0 } : list.answer(window),
  'an answer that repeats a row, once': (list, window, answered) => {
    const answer = list.answer(window)
    return answered === 0 ? altered(answer, 7, ({ rows }) => rows[6]) : answer
  },
  'every fifth answer from a cache': (list, window, answered) =>
    answered % 5 === 3 ? 'cached-answer' : list.answer(window),
  'page 1 from a cache at first': (list, window, answered) => (answered === 0 ? 'cached-answer' : list.answer(window)),
  'the middle from a cache': (list, window) => (covers(window, 171) ? 'cached-answer' : list.answer(window)),
  'a row that is listed twice': (list, window) =>
    altered(list.answer(window), 7, ({ rows }) => (covers(window, 130) ? rows[6] : rows[7])),
  'a record without an id': (list, window) =>
    altered(list.answer(window), 130 - startOf(window), () => ({ id: undefined, createdAt: undefined })),
  'one database that lacks three rows': (list, window, answered) => {
    const answer = list.answer(window)
    if (answered % 2 === 0) return answer
    const total = Math.max(0, list.size - 3)
    return { ...answer, rows: answer.rows.slice(0, Math.max(0, total - startOf(window))), total }
  },
}
