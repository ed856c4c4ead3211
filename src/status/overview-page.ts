import { html } from 'hono/html'
import type { LatestRun } from '../model/report.ts'
import { count, duration, grouped, moment } from '../text/wording.ts'
import { chart, colourOf, facts, framed, time, unlessZero, type Html } from './frame.ts'
import { DRAWN_RUNS, type OrganizationView, type Overview, type Served } from './overview.ts'
import { progressWords, sentencesOf, span } from './sentences.ts'
import { STATES, type Underway } from './standing.ts'
import { EXACT_VERSION } from '../machine/version.ts'

/** The overview as a page: all of it as a file of its own, or a part of it from a server, which has pages of runs too. */
export function overviewPage(overview: Overview, served?: Served): Promise<string> {
  const { organizations, nowMs, totals } = overview
  const groups = GROUPS.map((title, urgency) => ({
    title: `${title} · ${grouped(totals[urgency] ?? 0)}`,
    members: organizations.filter(({ standing }) => standing.urgency === urgency),
  })).filter(({ members }) => members.length > 0)
  const main = html`${served?.notices?.map((notice) => html`<p class="notice">${notice}</p>`) ?? ''}
    <p class="lead">${leadOf(totals)}</p>
    ${served === undefined ? '' : findForm(served)}
    ${groups.map(
      ({ title, members }) =>
        html`<h2>${title}</h2>
          ${members.map((view) => card(view, nowMs, served !== undefined))}`,
    )}
    ${organizations.length === 0 ? html`<p class="soft">No organization has an id like that.</p>` : ''}
    ${served === undefined ? '' : pagesOf(served)}`
  const frame = { beside: html`as of ${time(nowMs, nowMs)}`, foot: footOf(overview), policy: served === undefined }
  return framed({ title: 'Customer Mirror', ...frame }, main)
}

function leadOf(totals: readonly number[]): string {
  const [urgent = 0] = totals
  const all = totals.reduce((sum, number) => sum + number, 0)
  if (urgent === 0)
    return all === 1 ? 'The organization needs no attention.' : `None of ${grouped(all)} organizations needs attention.`
  return `${grouped(urgent)} of ${count(all, 'organization')} ${urgent === 1 ? 'needs' : 'need'} attention.`
}

/** By their urgency. */
const GROUPS = ['Needs attention', 'Under way, or could be better', 'As it should be'] as const

function card(view: OrganizationView, nowMs: number, isServed: boolean): Html {
  const { organization, standing, underway, runs } = view
  return html`<article class="card organization">
    <div>
      <div class="head">
        <h3>${organization}</h3>
        ${standing.states.map((state) => html`<span class="state ${STATES[state].colour}">${STATES[state].words}</span> `)}
      </div>
      <div class="words">
        ${underway === undefined ? '' : progress(underway, organization)}
        ${sentencesOf(view, nowMs).map(
          ({ text, command }) => html`<p>${text}${command === undefined ? '' : html` <code>${command}</code>`}</p>`,
        )}
      </div>
      ${factsOf(view, nowMs)}
    </div>
    ${runs.length === 0 ? '' : html`<figure>${runChart(runs)} ${isServed ? runList(view) : ''}</figure>`}
  </article>`
}

function progress(underway: Underway, organization: string): Html {
  const { percent } = underway
  const label = `${organization}: how much of the list is read`
  return html`<div class="progress">
      ${percent === undefined ? '' : html`<progress max="100" value="${percent}" aria-label="${label}"></progress><span>${percent} %</span>`}
    </div>
    <p>${progressWords(underway)}</p>`
}

function factsOf({ freshness, due }: OrganizationView, nowMs: number): Html {
  const next = due && html`in ${duration(span(nowMs, due.nextMs))} <span class="soft">(${due.nextLocal})</span>`
  const quick = due?.nextPartialMs === undefined ? undefined : `in ${duration(span(nowMs, due.nextPartialMs))}`
  return facts([
    ['Next run', next ?? 'no schedule'],
    ['Next quick run', quick],
    ['Customers', grouped(freshness?.active ?? 0)],
    ['Missing', unlessZero(freshness?.missing)],
    ['Removed', unlessZero(freshness?.removed)],
  ])
}

function runList({ organization, runs }: OrganizationView): Html {
  const items = runs.map(({ runId, startedAtMs, status, proof, durationMs }) => {
    const words = `${moment(startedAtMs)}, ${status === 'complete' ? proof : status}, ${duration(durationMs)}`
    return html`<li><a href="/runs/${runId}">#${runId}</a> ${words}</li>`
  })
  return html`<details>
    <summary>Runs of ${organization}</summary>
    <ul class="runs">
      ${items.toReversed()}
    </ul>
  </details>`
}

function findForm({ find }: Served): Html {
  return html`<form class="find" method="get" action="/" role="search">
    <label for="find">Organization</label>
    <input id="find" name="find" value="${find}" autocomplete="off" spellcheck="false" maxlength="63" />
    <button>Find</button>
    ${find === '' ? '' : html`<a href="/">Show all</a>`}
  </form>`
}

function pagesOf({ find, page, pages, found }: Served): Html | '' {
  if (pages <= 1) return ''
  const link = (to: number, words: string) => {
    const query = new URLSearchParams({ ...(find !== '' && { find }), page: String(to) }).toString()
    return to < 1 || to > pages ? '' : html`<a href="/?${query}">${words}</a>`
  }
  return html`<nav class="pages" aria-label="Pages">
    ${link(page - 1, 'Previous')}
    <span>Page ${page} of ${pages}, ${count(found, 'organization')}</span>
    ${link(page + 1, 'Next')}
  </nav>`
}

function footOf({ leftBehind, nowMs }: Overview): Html {
  return html`<p>
      Bars show how long a run took. Green runs are proven or settled, yellow ones are not, grey ones did not end, red
      ones below the line failed.
    </p>
    ${leftBehind.map(
      ({ organization, active }) =>
        html`<p>${organization} is not configured, and has ${count(active, 'active customer')}.</p>`,
    )}
    <p>This page does not change by itself. It was made at ${moment(nowMs)} by Customer Mirror ${EXACT_VERSION}.</p>`
}

/** The drawing in its own units: a bar for each run, of which those that failed hang below the line. */
const [SLOT, BAR, LINE, HEIGHT] = [8, 6, 36, 52]

/** The durations of runs as square roots. Failures hang, so that no colour has to be seen. */
function runChart(runs: readonly LatestRun[]): Html {
  const longest = Math.max(1, ...runs.map(({ durationMs }) => durationMs))
  const bars = { good: '', weak: '', bad: '', busy: '', quiet: '' }
  runs.forEach((run, index) => {
    const kind = colourOf(run)
    const height = Math.max(2, Math.round(Math.sqrt(run.durationMs / longest) * LINE))
    const x = (DRAWN_RUNS - runs.length + index) * SLOT + 1
    bars[kind] += `M${x} ${LINE}v${kind === 'bad' ? HEIGHT - LINE : -height}h${BAR}V${LINE}z`
  })
  const failed = runs.filter(({ status }) => status === 'failed').length
  const which = runs.length === 1 ? 'The only run' : `The last ${runs.length} runs`
  const words = `${which}: ${failed === 0 ? 'none' : failed} failed, the longest took ${duration(longest)}.`
  const paths = Object.entries(bars).map(([kind, path]) => path && html`<path class="${kind}" d="${path}" />`)
  const width = SLOT * DRAWN_RUNS
  return chart([width, HEIGHT], words, html`${paths}<path class="line" d="M0 ${LINE}h${width}" />`)
}
