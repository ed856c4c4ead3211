import { html } from 'hono/html'
import { EXACT_VERSION } from '../machine/version.ts'
import { count, grouped, moment } from '../text/wording.ts'
import { chart, facts, framed, type Html } from '../status/frame.ts'
import type { Figures, Share } from './figures.ts'

const MOST_DRAWN = 100

const MOST_LANGUAGES = 8

/** The figures as one page without personal data: nothing has to be loaded for it, and no script runs. */
export function reportPage(figures: readonly Figures[], nowMs: number): Promise<string> {
  const drawn = figures.toSorted((one, other) => other.active - one.active).slice(0, MOST_DRAWN)
  const active = figures.reduce((sum, each) => sum + each.active, 0)
  const more = figures.length - drawn.length
  const main = html`<p class="lead">${count(active, 'active customer')} of ${count(figures.length, 'organization')}.</p>
    ${drawn.map(card)}
    ${more === 0 ? '' : html`<p class="soft">${count(more, 'smaller organization')} not shown: name one with --org.</p>`}`
  const foot = html`<p>
      Days and months are those of UTC. Customers count as new on the day of the first complete run, and as removed when
      their absence is proven, or confirmed by searches.
    </p>
    <p>This page holds no personal data. It was made at ${moment(nowMs)} by Customer Mirror ${EXACT_VERSION}.</p>`
  return framed({ title: 'Customers', beside: `as of ${moment(nowMs)}`, foot, policy: true }, main)
}

function card({ organization, readAsOf, active, missing, removed, days, months, languages, companies }: Figures): Html {
  const state = readAsOf === undefined ? 'Its list was never read to its end.' : `Its list was read at ${readAsOf} UTC.`
  return html`<article class="card">
    <h2>${organization}</h2>
    <p class="soft">${state}</p>
    ${facts([
      ['Active', grouped(active)],
      ['Missing', grouped(missing)],
      ['Removed', grouped(removed)],
    ])}
    <div class="figures">
      <div>
        ${growth(days)} ${turnover(months)}
        ${companies === undefined ? '' : shares('Companies by size', 'Active customers', companies)}
      </div>
      ${shares('Languages', 'Language', withOthers(languages))}
    </div>
  </article>`
}

const WIDTH = 240
const HEIGHT = 60

/** The active customers at the end of each day, as a line between the lowest and the highest; nothing of one day alone. */
function growth(days: Figures['days']): Html | '' {
  const [first, last] = [days[0], days.at(-1)]
  if (first === undefined || last === undefined || first === last) return ''
  const counts = days.map(({ active }) => active)
  const [least, most] = [Math.min(...counts), Math.max(...counts)]
  const x = (place: number) => rounded((place * WIDTH) / (days.length - 1))
  const y = (active: number) => rounded(HEIGHT - 2 - ((active - least) / Math.max(1, most - least)) * (HEIGHT - 4))
  const path = `M${counts.map((active, place) => `${x(place)} ${y(active)}`).join('L')}`
  const range = `at least ${grouped(least)}, at most ${grouped(most)}`
  const words = `From ${grouped(first.active)} active customers on ${first.day} to ${grouped(last.active)} on ${last.day}; ${range}.`
  return figure('Growth', words, html`<path class="trend" d="${path}" />`)
}

/** Changes of each month above the line, removals below it, each on its own scale. */
function turnover(months: Figures['months']): Html | '' {
  const [first, last] = [months[0], months.at(-1)]
  if (first === undefined || last === undefined) return ''
  const slot = WIDTH / Math.max(12, months.length)
  const middle = HEIGHT / 2
  const [changed, removed] = [months.map((each) => each.changed), months.map((each) => each.removed)]
  const bar = (place: number, height: number) =>
    `M${rounded(place * slot + 1)} ${middle}v${height}h${rounded(slot - 2)}v${-height}z`
  const bars = (counts: readonly number[], sign: 1 | -1) => {
    const most = Math.max(...counts)
    return counts
      .map((each, place) => (each === 0 ? '' : bar(place, sign * Math.max(2, rounded((each / most) * (middle - 2))))))
      .join('')
  }
  const sum = (counts: readonly number[]) => counts.reduce((all, each) => all + each, 0)
  const when = first.month === last.month ? `In ${last.month}` : `From ${first.month} to ${last.month}`
  const words = `${when}: ${count(sum(changed), 'change')} above the line, ${count(sum(removed), 'removal')} below it.`
  const rows = months.map((each) => [each.month, ...[each.added, each.changed, each.removed].map(grouped)])
  const drawing = html`<path class="changes" d="${bars(changed, -1)}" />
    <path class="bad" d="${bars(removed, 1)}" />
    <path class="line" d="M0 ${middle}h${WIDTH}" />`
  return html`<div>
    ${figure('Changes and removals', words, drawing)}
    <details>
      <summary>Each month</summary>
      ${counted(['Month', 'New', 'Changes', 'Removed'], rows.toReversed())}
    </details>
  </div>`
}

function figure(title: string, words: string, drawing: Html): Html {
  return html`<figure>
    <h3>${title}</h3>
    ${chart([WIDTH, HEIGHT], words, drawing)}
  </figure>`
}

/** A table with a bar for each count, as a share of all. */
function shares(title: string, of: string, counts: readonly Share[]): Html | '' {
  const all = counts.reduce((sum, each) => sum + each.count, 0)
  if (all === 0) return ''
  const rows = counts.map(({ name, count: number }) => {
    const share = Math.round((1000 * number) / all) / 10
    const bar = html`${share.toFixed(1)} %
      <svg class="share" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
        <path d="M0 0h${share}v4h${-share}z" />
      </svg>`
    return [name, grouped(number), bar]
  })
  return html`<section>
    <h3>${title}</h3>
    ${counted([of, 'Number', 'Share'], rows)}
  </section>`
}

function counted(heads: readonly string[], rows: readonly (readonly (string | Html)[])[]): Html {
  return html`<table class="counts">
    <tr>
      ${heads.map((head) => html`<th scope="col">${head}</th>`)}
    </tr>
    ${rows.map(
      ([name, ...cells]) =>
        html`<tr>
          <th scope="row">${name}</th>
          ${cells.map((cell) => html`<td>${cell}</td>`)}
        </tr>`,
    )}
  </table>`
}

/** The largest by name, and the others together. A service may send anything as a language: it is cut where it is long. */
function withOthers(languages: readonly Share[]): Share[] {
  const [largest, others] = [languages.slice(0, MOST_LANGUAGES), languages.slice(MOST_LANGUAGES)]
  const named = largest.map((each) => ({ ...each, name: each.name.slice(0, 30) || 'none given' }))
  const rest = others.reduce((sum, each) => sum + each.count, 0)
  return others.length === 0 ? named : [...named, { name: count(others.length, 'other'), count: rest }]
}

function rounded(number: number): number {
  return Math.round(number * 10) / 10
}
