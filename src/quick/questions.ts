import { endOf, startOf, windowAt, windowKey, type Window } from '../scan/window.ts'
import { isExplained, type Gap, type Span } from './gaps.ts'

export type Asking = {
  /** The size of pages. */
  size: number
  /** The service serves pages of this size alone. */
  isFixed: boolean
  asked: ReadonlySet<string>
  underWay: readonly Window[]
  /** How many requests are left. */
  room: number
}

/** Windows that may explain the gaps, and whether there are any but those under way. */
export type Questions = { windows: Window[]; isWaiting: boolean }

/**
 * The windows to ask for next, at most one for each gap. Gaps with more rows than expected come first: customers that have
 * moved stand there, and explain the gaps that they left.
 */
export function questionsOn(gaps: readonly Gap[], asking: Asking): Questions {
  const open = gaps.filter((gap) => !isExplained(gap) && !gap.isOneCut)
  const grown = questionsOfEach(
    open.filter(({ expected, unread }) => unread > expected),
    asking,
  )
  if (grown.windows.length > 0 || grown.isWaiting) return grown
  const shrunk = open.filter(({ expected, unread }) => unread < expected)
  const doubtful = gaps.filter((gap) => isExplained(gap) && gap.doubtful.length > 0)
  return questionsOfEach([...shrunk, ...doubtful.map(whereDoubtful)], asking)
}

/** A gap whose numbers agree is looked into only beside rows that were not expected. */
function whereDoubtful(gap: Gap): Gap {
  return { ...gap, holes: gap.doubtful, unread: gap.doubtful.length }
}

function questionsOfEach(gaps: readonly Gap[], asking: Asking): Questions {
  const windows: Window[] = []
  let isWaiting = false
  let left = asking.room
  // The smallest gaps first, and only as many as the requests can resolve: rather some changes found than all of them narrowed down.
  for (const gap of gaps.toSorted((one, other) => one.unread - other.unread)) {
    const needed = Math.ceil(Math.log2(gap.unread / asking.size + 1)) + 1
    if (needed > left && (isWaiting || windows.length > 0)) break
    left -= needed
    if (asking.underWay.some((window) => isAbout(gap, window))) isWaiting = true
    else {
      const window = gap.holes.length === 0 ? across(gap, asking) : within(gap.holes, asking)
      if (window !== undefined) windows.push(window)
    }
  }
  return { windows, isWaiting }
}

function isAbout({ holes, seam }: Gap, window: Window): boolean {
  const [start, end] = [startOf(window), endOf(window)]
  if (holes.length === 0) return start < seam && end > seam
  return holes.some(({ from, to }) => from < end && start < to)
}

function across({ seam }: Gap, { size, isFixed, asked }: Asking): Window | undefined {
  if (isFixed || seam === Infinity) return undefined
  return windowAcross(seam, size, (window) => asked.has(windowKey(window)))
}

const MOST_ACROSS = 2

/** A window that holds the rows on both sides of a position, as many as it can; undefined where two such were asked for. */
function windowAcross(position: number, largest: number, wasAsked: (window: Window) => boolean): Window | undefined {
  let best: Window | undefined
  let margin = 0
  let tries = 0
  for (let size = largest; size >= Math.ceil(largest / 2); size -= 1) {
    const window = windowAt(position, size)
    const start = startOf(window)
    const least = Math.min(position - start, start + size - position)
    if (least < 1) continue
    if (wasAsked(window)) tries += 1
    else if (least > margin) [best, margin] = [window, least]
  }
  return tries < MOST_ACROSS ? best : undefined
}

/** The page in the middle of the largest hole that was not asked for yet. */
export function within(holes: readonly Span[], { size, asked }: Pick<Asking, 'size' | 'asked'>): Window | undefined {
  for (const { from, to } of holes.toSorted((one, other) => other.to - other.from - (one.to - one.from))) {
    const first = windowAt(from, size).page
    const last = windowAt(to - 1, size).page
    const middle = windowAt((from + to) / 2, size).page
    for (let step = 0; step <= MOST_STEPS; step += 1) {
      for (const page of [middle - step, middle + step]) {
        if (page >= first && page <= last && !asked.has(windowKey({ page, size }))) return { page, size }
      }
    }
  }
  return undefined
}

/** How far from the middle of a hole a page is looked for, if that could not be read. */
const MOST_STEPS = 4

/**
 * A few pages at even distances, so that changes that cancel out are seen if they are far from each other. `turn` shifts them from one
 * run to the next: what was hidden then may be seen now.
 */
export function evenlySpaced(length: number, count: number, { size, turn }: { size: number; turn: number }): Window[] {
  const shift = (turn * GOLDEN) % 1
  return Array.from({ length: count }, (_, index) => {
    const position = Math.floor(((index + shift) / count) * length)
    return windowAt(position, size)
  })
}

/** The multiples of no other number are spread as evenly. */
const GOLDEN = 0.618_033_988_75
