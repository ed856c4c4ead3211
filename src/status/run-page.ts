import { html } from 'hono/html'
import { factsOfCode } from '../errors/error-facts.ts'
import type { StoredRun } from '../model/mirror.ts'
import { count, duration, grouped } from '../text/wording.ts'
import { colourOf, facts, framed, time, unlessZero, type Html, type Line } from './frame.ts'
import { certificateOf, noteLines, proofLines, reasonWords } from './proof-words.ts'

/** A run as a page: what it did, what its scan proves, its windows and seams, and what each reason means. */
export function runPage(run: StoredRun, { waiting, nowMs }: { waiting: number; nowMs: number }): Promise<string> {
  const { runId, organization, status, startedAtMs, durationMs, trigger, finishedAtMs } = run
  const took = finishedAtMs === undefined ? '' : `, took ${duration(durationMs)}`
  const main = html`<p class="lead">
      <span class="state ${colourOf(run)}">${status === 'complete' ? run.proof : status}</span>
      started ${time(startedAtMs, nowMs)}${took} (${trigger})
    </p>
    <h2>What it proves</h2>
    <section class="card words">
      ${failureOf(run)} ${proofLines(run).map((line) => html`<p>${line.trim()}</p>`)} ${reasonsOf(run)}
      ${heldOf(run, waiting)}
    </section>
    <div class="halves">
      <div>
        <h2>What it did</h2>
        <div class="card">${facts(countLines(run), 'lines')}</div>
      </div>
      <div>
        <h2>How the list was read</h2>
        <div class="card">${scanTable(run)}</div>
      </div>
    </div>`
  const heading = `Run #${runId} of ${organization}`
  return framed({ title: `${heading} · Customer Mirror`, heading, beside: BACK }, main)
}

export function errorPage(title: string, why: string): Promise<string> {
  const main = html`<p class="lead">${why}</p>
    <p>${BACK}</p>`
  return framed({ title: `${title} · Customer Mirror`, heading: title }, main)
}

const BACK = html`<a href="/">All organizations</a>`

/** The message of an error may name hosts and files, so only its code is shown here, and what that means. */
function failureOf({ error, runId }: StoredRun): Html | '' {
  if (error === undefined) return ''
  return html`<p>
    ${error.code}: ${factsOfCode(error.code).title}. The whole message: <code>customer-mirror runs show ${runId}</code>
  </p>`
}

function reasonsOf({ reasons }: StoredRun): Html | '' {
  if (reasons.length === 0) return ''
  return html`<dl class="reasons">
    ${reasons.map(
      (reason) =>
        html`<dt>${reason}</dt>
          <dd>${reasonWords(reason)}</dd>`,
    )}
  </dl>`
}

function heldOf({ held, organization, status }: StoredRun, waiting: number): Html | '' {
  if (held === 0 || status === 'partial') return ''
  if (waiting === 0) return html`<p>${count(held, 'removal')} held back, of which none waits for a decision now.</p>`
  return html`<p>
    ${count(held, 'removal')} held back, ${grouped(waiting)} wait for a decision:
    <code>customer-mirror removals show ${organization}</code> lists them, to approve or discard.
  </p>`
}

function countLines(run: StoredRun): Line[] {
  return [
    ['Records received', grouped(run.received)],
    ['New customers', grouped(run.inserted)],
    ['Changed', grouped(run.updated)],
    ['Unchanged', grouped(run.unchanged)],
    ['Received twice, as pages overlap', unlessZero(run.duplicates)],
    ['Could not be kept', unlessZero(run.rejected)],
    ['Forgotten, and not kept', unlessZero(run.suppressed)],
    ['Missing', unlessZero(run.missing)],
    ['Removed', unlessZero(run.removed)],
    ['Returned', unlessZero(run.returned)],
    ['Searches refused', unlessZero(run.searchesRefused)],
    ['Requests', run.status === 'running' ? undefined : grouped(run.requests)],
    ['Asked to slow down', run.throttled === 0 ? undefined : count(run.throttled, 'time')],
    ['Waited', run.waitedMs === 0 ? undefined : duration(run.waitedMs)],
    ['Continued run', run.resumedFrom === undefined ? undefined : `#${run.resumedFrom}`],
  ]
}

function scanTable(run: StoredRun): Html {
  const scan = certificateOf(run)
  const { pageSize, total, basis, witness, found = [] } = scan ?? {}
  const lines: Line[] = [
    ['Windows read', grouped(run.pages)],
    ['Pages trusted unread', run.trustedPages === undefined ? undefined : grouped(run.trustedPages)],
    ['Customers in a window', pageSize === undefined ? undefined : grouped(pageSize)],
    ['Different customers read', scan && grouped(scan.distinct)],
    ['Total by the service', scan && (total === undefined ? 'not given' : grouped(total))],
    ['The proof rests on', basis],
    ['Order of the list', witness],
    ['Found by searches, not in the list', unlessZero(found.length)],
  ]
  const notes = noteLines(run).map((line) => html`<p>${line.trim()}</p>`)
  return html`${facts(lines, 'lines')} ${scan ? notes : html`<p class="soft">This run has no certificate.</p>`}`
}
