import { html } from 'hono/html'
import type { LatestRun } from '../model/report.ts'
import { count, duration } from '../text/wording.ts'
import { DRAWN_RUNS } from './overview.ts'
import type { Html } from './frame.ts'

/** The size of the drawing, in its own units. Bars of duration stand on the line, bars of changes hang below it. */
const SLOT = 8
const WIDTH = SLOT * DRAWN_RUNS
const LINE = 36
const HEIGHT = 60
const BAR = 6

/** How a bar is drawn: by the end of its run, and the word for that end. */
const KINDS = ['good', 'weak', 'bad', 'open'] as const
type Kind = (typeof KINDS)[number]

/**
 * The latest runs as a drawing: above the line how long each took, coloured by its end, below it how many customers changed. Failures
 * have a cross as well, so that no colour has to be seen. Heights are square roots, so that small ones are seen beside large ones.
 */
export function runChart(runs: readonly LatestRun[]): Html | '' {
  if (runs.length === 0) return ''
  const longest = Math.max(1, ...runs.map(({ durationMs }) => durationMs))
  const most = Math.max(1, ...runs.map(changesOf))
  const bars: Record<Kind, string> = { good: '', weak: '', bad: '', open: '' }
  let [changes, crosses] = ['', '']
  runs.forEach((run, index) => {
    const x = (DRAWN_RUNS - runs.length + index) * SLOT + 1
    const kind = kindOf(run)
    const height = kind === 'bad' ? LINE - 8 : heightOf(run.durationMs / longest, LINE - 8)
    bars[kind] += `M${x} ${LINE}v-${height}h${BAR}v${height}z`
    if (kind === 'bad') crosses += `M${x} 1l${BAR} ${BAR}m0-${BAR}l-${BAR} ${BAR}`
    const changed = changesOf(run)
    if (changed > 0) changes += barDown(x, heightOf(changed / most, HEIGHT - LINE - 3))
  })
  return html`<svg
    class="chart"
    viewBox="0 0 ${WIDTH} ${HEIGHT}"
    role="img"
    aria-label="${chartWords(runs)}"
    preserveAspectRatio="none"
  >
    ${KINDS.map((kind) =>
      bars[kind] === '' ? '' : html`<path class="${kind}" d="${bars[kind]}" />`,
    )}${changes === '' ? '' : html`<path class="changes" d="${changes}" />`}${
      crosses === '' ? '' : html`<path class="cross" d="${crosses}" />`
    }
    <path class="line" d="M0 ${LINE + 0.5}h${WIDTH}" />
  </svg>`
}

/** The drawing in words, for those who do not see it. */
export function chartWords(runs: readonly LatestRun[]): string {
  const failed = runs.filter((run) => kindOf(run) === 'bad').length
  const longest = Math.max(...runs.map(({ durationMs }) => durationMs))
  const most = Math.max(...runs.map(changesOf))
  const span = runs.length === 1 ? 'The only run' : `The last ${runs.length} runs`
  return `${span}: ${failed === 0 ? 'none' : failed} failed, the longest took ${duration(longest)}, at most ${count(most, 'change')}.`
}

function kindOf({ status, proof }: LatestRun): Kind {
  if (status === 'failed') return 'bad'
  if (status !== 'complete') return 'open'
  return proof === 'proven' || proof === 'settled' ? 'good' : 'weak'
}

/** Customers that a run added, changed, removed or brought back; those brought back are among the changed ones. */
function changesOf({ inserted, updated, removed }: LatestRun): number {
  return inserted + updated + removed
}

function barDown(x: number, height: number): string {
  return `M${x} ${LINE + 2}v${height}h${BAR}v-${height}z`
}

function heightOf(share: number, most: number): number {
  return Math.max(2, Math.round(Math.sqrt(share) * most))
}
