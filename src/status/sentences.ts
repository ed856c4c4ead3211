import { factsOfCode } from '../errors/error-facts.ts'
import { isFarAhead } from '../time/moments.ts'
import { count, duration, grouped, moment } from '../text/wording.ts'
import type { OrganizationView } from './overview.ts'
import { GRADES, reasonWords } from './proof-words.ts'
import { isOfService, type Underway, type Wait } from './standing.ts'

/** A sentence about an organization, with the command that says more or decides. */
export type Sentence = { text: string; command?: string }

/** What there is to say about an organization, what needs a person first. */
export function sentencesOf(view: OrganizationView, nowMs: number): Sentence[] {
  const { organization, standing, freshness, paused } = view
  const { states, lastEnded } = standing
  const until = paused?.untilMs === undefined ? '' : `, until ${moment(paused.untilMs)}`
  const { runId: partialRunId, errorCode: partialCode } = freshness?.lastPartial ?? {}
  const rejects = freshness?.openRejects ?? 0
  const sentences: (Sentence | false | undefined)[] = [
    failureSentence(view, nowMs),
    paused && {
      text: `Paused ${ago(paused.sinceMs, nowMs)}${until}: no run starts. To end the pause:`,
      command: `customer-mirror resume ${organization}`,
    },
    waitSentence(view, nowMs),
    lastEnded !== undefined &&
      states.includes('stopped') && {
        text: `Run #${lastEnded.runId} was ${lastEnded.status === 'failed' ? 'cancelled by a person' : 'stopped before its end'}. The next run continues it.`,
      },
    ...view.held.map(({ held, runId }) => ({
      text: `Run #${runId} held back ${count(held, 'removal')}. See whom; if they are gone, approve, and if not, discard.`,
      command: `customer-mirror removals show ${organization}`,
    })),
    states.includes('shape-changed') && {
      text: 'Fields of many customers have changed, and what is stored is kept. If the data is right as it comes, accept it.',
      command: `customer-mirror accept ${organization}`,
    },
    { text: freshnessWords(view, nowMs) },
    ...proofSentences(view, nowMs),
    partialCode !== undefined && {
      text: `Run #${partialRunId}, between two nights, failed: ${factsOfCode(partialCode).title} (${partialCode}).`,
      command: `customer-mirror runs show ${partialRunId}`,
    },
    rejects > 0 && {
      text: `${count(rejects, 'record')} could not be kept as ${rejects === 1 ? 'a customer' : 'customers'}.`,
      command: `customer-mirror rejects ${organization}`,
    },
    freshness?.retiredAtMs !== undefined && { text: 'Retired, and configured again: its next run ends that.' },
  ]
  return sentences.filter((sentence) => typeof sentence === 'object')
}

/** How far a run is: `Run #13 has read 3,400 of 10,000 customers, about 2 min left.` */
export function progressWords({ runId, isPartial, readInAll, total, leftMs }: Underway): string {
  if (isPartial) return `Run #${runId} is looking for changes.`
  const of = total === undefined ? '' : ` of ${grouped(total)}`
  const left = leftMs === undefined ? '' : `, about ${duration(Math.max(1000, leftMs))} left`
  return `Run #${runId} has read ${grouped(readInAll)}${of} customers${left}.`
}

function failureSentence({ organization, standing }: OrganizationView, nowMs: number): Sentence | undefined {
  const { inARow, sinceMs = nowMs, last } = standing.failures
  if (last === undefined) return undefined
  const { title, fix } = factsOfCode(last.errorCode ?? '')
  const runs = inARow === 1 ? 'The last run failed' : `The last ${inARow} runs failed`
  const since = inARow === 1 ? ago(last.startedAtMs, nowMs) : `the first ${ago(sinceMs, nowMs)}`
  const advice = / above\b/.test(fix) ? '' : ` ${fix.replaceAll('<organization>', organization)}`
  const command = `customer-mirror runs show ${last.runId}`
  return { text: `${runs}, ${since}: ${title} (${last.errorCode ?? 'unexpected'}).${advice}`, command }
}

function waitSentence({ wait, standing, underway }: OrganizationView, nowMs: number): Sentence | undefined {
  const { states, lastEnded } = standing
  const since =
    lastEnded === undefined || underway !== undefined || !states.includes('waiting')
      ? ''
      : ` Run #${lastEnded.runId} waits for ${duration(span(lastEnded.startedAtMs + lastEnded.durationMs, nowMs))}: what was read is kept, and the run goes on by itself.`
  if (isOfService(wait)) return { text: `The ${waitWords(wait, nowMs)}.${since}` }
  return since === '' ? undefined : { text: `The service asked to wait.${since}` }
}

/** What a job waits for, as `service answers 503; attempt 7; next in 20 s`. */
export function waitWords({ why, status, attempt, untilMs }: Wait, nowMs: number): string {
  const silent = why === 'outage' ? 'does not answer' : 'asked to wait'
  const words = [`service ${status === undefined ? silent : `answers ${status}`}`]
  if (attempt !== undefined) words.push(`attempt ${attempt}`)
  const leftMs = untilMs === undefined ? 0 : untilMs - nowMs
  if (leftMs > 0) words.push(`next in ${leftMs < 60_000 ? `${Math.ceil(leftMs / 1000)} s` : duration(span(0, leftMs))}`)
  return words.join('; ')
}

function freshnessWords({ freshness, due, standing, paused }: OrganizationView, nowMs: number): string {
  const readAsOfMs = freshness?.readAsOfMs
  if (readAsOfMs === undefined) {
    const dueWords = due?.isLate === true ? ` It was due ${ago(due.lastMs, nowMs)}.` : ''
    return standing.states.includes('never') || (paused !== undefined && standing.lastEnded === undefined)
      ? `No run yet.${dueWords}`
      : `The list was never read to its end.${dueWords}`
  }
  // A date further ahead than clocks that are nearly right comes from a wrong one.
  const read = isFarAhead(readAsOfMs, nowMs)
    ? `Read at ${moment(readAsOfMs)}, which lies in the future (check the clock, then sync again)`
    : `Read ${ago(readAsOfMs, nowMs)}`
  if (due === undefined) return `${read}; there is no schedule to hold this against.`
  if (!due.isDue) return `${read}, as scheduled.`
  return `${read}, and due ${ago(due.lastMs, nowMs)}: ${due.isLate ? 'late' : 'still within its time'}.`
}

function proofSentences({ freshness, standing: { lastEnded } }: OrganizationView, nowMs: number): Sentence[] {
  if (freshness?.readAsOfMs === undefined) return []
  const { provenAsOfMs, why } = freshness
  const proof = lastEnded?.status === 'complete' ? lastEnded.proof : undefined
  if (proof === 'proven') return [{ text: GRADES.proven }]
  const last =
    provenAsOfMs === undefined ? 'Never proven or settled.' : `Last proven or settled ${ago(provenAsOfMs, nowMs)}.`
  const grade = proof === undefined ? '' : GRADES[proof]
  const reasons = why.filter((reason) => !OF_THE_RUN.has(reason) && reasonWords(reason) !== '')
  return [
    { text: [grade, ...(proof === 'settled' ? [] : [last])].join(' ').trim() },
    ...reasons.map((reason) => ({ text: `${reasonWords(reason)} (${reason})` })),
  ]
}

/** Reasons that say how a run ended, which other sentences do. */
const OF_THE_RUN = new Set(['failed', 'waiting', 'interrupted'])

/** `3 h 5 min ago`; a moment ahead, by a clock that was set back, is now. */
export function ago(thenMs: number, nowMs: number): string {
  return `${duration(span(thenMs, nowMs))} ago`
}

/** The time between two moments in whole minutes, below one in whole seconds, and never negative. */
export function span(fromMs: number, toMs: number): number {
  const ms = Math.max(0, toMs - fromMs)
  // A glance does not need the seconds of an hour.
  return ms < 60_000 ? Math.floor(ms / 1000) * 1000 : Math.floor(ms / 60_000) * 60_000
}
