import { createHash } from 'node:crypto'
import { html, raw } from 'hono/html'
import type { LatestRun } from '../model/report.ts'
import { plainLines } from '../text/plain-text.ts'
import { isoTime } from '../time/moments.ts'
import { grouped, moment } from '../text/wording.ts'
import { ago } from './sentences.ts'

/** A piece of a page. Texts put into it are escaped. */
export type Html = ReturnType<typeof html>

/** The style of every page: calm, in light and dark, on a phone and on a wide screen. */
const STYLE = `
:root {
  color-scheme: light dark;
  --paper: light-dark(#f7f6f3, #131518); --card: light-dark(#ffffff, #1b1e22); --rule: light-dark(#e3e1db, #2d3137);
  --ink: light-dark(#1d1f22, #e9e8e4); --soft: light-dark(#5a5f66, #a7abb2);
  --good: light-dark(#1d7a4c, #6fcb9a); --weak: light-dark(#8a6100, #e3b75a); --bad: light-dark(#b3261e, #ff9088);
  --good-tint: light-dark(#e6f3eb, #17301f); --weak-tint: light-dark(#f9f0d9, #352a10); --bad-tint: light-dark(#fbe9e7, #3a1a18);
  --busy: light-dark(#1b5fa7, #8fbcf4); --busy-tint: light-dark(#e5effa, #162a40);
  --quiet: light-dark(#8a9099, #858b94); --quiet-tint: light-dark(#eeeeec, #26292e);
}
* { box-sizing: border-box; margin: 0; }
body {
  background: var(--paper); color: var(--ink); padding: 2rem 1rem 4rem; overflow-wrap: anywhere;
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
main, .top, .foot { max-width: 68rem; margin-inline: auto; }
a { color: var(--busy); text-underline-offset: 0.15em; }
a:focus-visible, summary:focus-visible, input:focus-visible, button:focus-visible { outline: 2px solid var(--busy); outline-offset: 2px; }
.top { display: flex; flex-wrap: wrap; gap: 0.25rem 1.5rem; align-items: baseline; justify-content: space-between; }
h1 { font-size: 1.5rem; line-height: 1.25; letter-spacing: -0.01em; }
h2 { font-size: 0.8125rem; letter-spacing: 0.06em; text-transform: uppercase; color: var(--soft); margin: 2.25rem 0 0.75rem; font-weight: 600; }
h3 { font-size: 1.0625rem; line-height: 1.3; }
.soft, .foot, figcaption { color: var(--soft); font-size: 0.875rem; }
.lead { font-size: 1.125rem; margin-top: 0.75rem; }
.notice { color: var(--bad); background: var(--bad-tint); border-radius: 10px; padding: 0.6rem 1.25rem; margin-top: 0.75rem; }
.foot { margin-top: 3rem; }
.foot p + p { margin-top: 0.25rem; }
.find { display: flex; flex-wrap: wrap; gap: 0.5rem; align-items: center; margin-top: 1.25rem; }
.find input, .find button { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--quiet); border-radius: 6px; padding: 0.3rem 0.7rem; min-width: 0; }
.pages { display: flex; flex-wrap: wrap; gap: 0.5rem 1.5rem; margin-top: 1.5rem; }
.card { background: var(--card); border: 1px solid var(--rule); border-radius: 10px; padding: 1.1rem 1.25rem; }
.card + .card { margin-top: 0.75rem; }
.organization { display: grid; gap: 0.75rem 2rem; grid-template-columns: minmax(0, 1fr); }
.head { display: flex; flex-wrap: wrap; gap: 0.35rem 0.6rem; align-items: center; }
.state { font-size: 0.8125rem; font-weight: 600; line-height: 1.4; padding: 0.1rem 0.6rem; border-radius: 999px; white-space: nowrap; }
.state.good { color: var(--good); background: var(--good-tint); }
.state.weak { color: var(--weak); background: var(--weak-tint); }
.state.bad { color: var(--bad); background: var(--bad-tint); }
.state.busy { color: var(--busy); background: var(--busy-tint); }
.state.quiet { color: var(--soft); background: var(--quiet-tint); }
.words > * + * { margin-top: 0.35rem; }
.words > * { max-width: 42rem; }
.head + .words { margin-top: 0.6rem; }
code { font: 0.875em/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; background: var(--quiet-tint); border-radius: 4px; padding: 0.1em 0.4em; }
.progress { display: flex; gap: 0.75rem; align-items: center; }
progress { flex: 1; height: 0.5rem; max-width: 20rem; min-width: 5rem; appearance: none; border: 0; border-radius: 99px; overflow: hidden; background: var(--busy-tint); }
progress::-webkit-progress-bar { background: var(--busy-tint); }
progress::-webkit-progress-value { background: var(--busy); }
progress::-moz-progress-bar { background: var(--busy); }
.facts { display: flex; flex-wrap: wrap; gap: 0.15rem 1.5rem; margin-top: 0.75rem; font-size: 0.875rem; }
.facts, .lines { font-variant-numeric: tabular-nums; }
.facts div { display: flex; gap: 0.4rem; }
.facts dt, .lines dt { color: var(--soft); }
.lines div { display: grid; grid-template-columns: 55% 1fr; gap: 0.5rem; padding: 0.35rem 0; }
.lines div + div { border-top: 1px solid var(--rule); }
figure { min-width: 0; }
.chart { display: block; width: 100%; height: 4.5rem; }
.chart .good { fill: var(--good); } .chart .weak { fill: var(--weak); } .chart .bad { fill: var(--bad); } .chart .busy, .chart .quiet { fill: var(--quiet); }
.chart .changes { fill: var(--busy); opacity: 0.65; }
.chart .line { stroke: var(--quiet); stroke-width: 1; fill: none; }
.chart .trend { stroke: var(--busy); stroke-width: 2; fill: none; vector-effect: non-scaling-stroke; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(17rem, 100%), 1fr)); gap: 1.5rem 2rem; margin-top: 1.25rem; }
.figures > div > * + *, .lead + .card { margin-top: 1.5rem; }
.card > h2 { margin: 0 0 0.15rem; font-size: 1.0625rem; letter-spacing: 0; text-transform: none; color: inherit; }
.counts { border-collapse: collapse; width: 100%; font-size: 0.875rem; font-variant-numeric: tabular-nums; }
.counts td, .counts th { text-align: end; width: 25%; padding: 0.35rem 0.5rem 0.35rem 0; border-top: 1px solid var(--rule); font-weight: 400; }
.counts tr:first-child > * { border-top: 0; }
.counts th { color: var(--soft); } .counts th:first-child { text-align: start; width: auto; }
.share { display: block; width: 100%; height: 0.25rem; fill: var(--busy); }
figcaption { margin-top: 0.35rem; }
details { margin-top: 0.5rem; font-size: 0.875rem; }
summary { color: var(--busy); cursor: pointer; width: fit-content; }
.runs { list-style: none; padding: 0; margin-top: 0.5rem; }
.runs li { padding: 0.25rem 0; border-top: 1px solid var(--rule); }
.reasons dt { font-weight: 600; margin-top: 0.6rem; }
@media (min-width: 48rem) {
  body { padding: 3rem 2rem 5rem; }
  .organization { grid-template-columns: minmax(0, 1fr) minmax(0, 17rem); }
  .halves { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 0.75rem; align-items: start; }
}
@media print { :root { color-scheme: light; } body { background: #ffffff; padding: 0; } .find, .pages { display: none; } .card { break-inside: avoid; } }
`

const STYLE_DIGEST = createHash('sha256').update(STYLE).digest('base64')

/** What a page may load: its own style, and nothing else from anywhere. It runs no script, and no other page may frame it. */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${STYLE_DIGEST}'`,
  'img-src data:',
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** What stands around the main part of a page. `policy` puts what it may load into the page itself, for a file that no server sends. */
type Frame = { title: string; heading?: string; beside?: Html | string; foot?: Html; policy?: boolean }

export async function framed({ title, heading = title, beside = '', foot, policy = false }: Frame, main: Html) {
  // A page cannot forbid in itself to be framed.
  const own = CONTENT_SECURITY_POLICY.split('; ').filter((rule) => !rule.startsWith('frame-ancestors'))
  const page = await html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        ${policy ? html`<meta http-equiv="Content-Security-Policy" content="${own.join('; ')}" />` : ''}
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="referrer" content="no-referrer" />
        <title>${title}</title>
        <link rel="icon" href="data:," />
        ${raw(`<style>${STYLE}</style>`)}
      </head>
      <body>
        <header class="top">
          <h1>${heading}</h1>
          <p class="soft">${beside}</p>
        </header>
        <main>${main}</main>
        ${foot && html`<footer class="foot">${foot}</footer>`}
      </body>
    </html>`
  return plainLines(page.toString())
}

/** A drawing, and what it shows in words, for those who do not see it too. */
export function chart([width, height]: readonly [number, number], words: string, drawing: Html): Html {
  return html`<svg
      class="chart"
      viewBox="0 0 ${width} ${height}"
      role="img"
      aria-label="${words}"
      preserveAspectRatio="none"
    >
      ${drawing}
    </svg>
    <figcaption>${words}</figcaption>`
}

/** A moment that a program can read too. */
export function time(atMs: number, nowMs: number): Html {
  const words = atMs === nowMs ? moment(atMs) : `${moment(atMs)} (${ago(atMs, nowMs)})`
  return html`<time datetime="${isoTime(atMs)}">${words}</time>`
}

/** A number as it is shown; undefined, which leaves its line out, where it is 0. */
export function unlessZero(number = 0): string | undefined {
  return number === 0 ? undefined : grouped(number)
}

/** A name and its value; undefined leaves the line out. */
export type Line = readonly [name: string, value: Html | string | undefined]

/** Names and values, beside each other or one below the other. */
export function facts(lines: readonly Line[], arranged: 'facts' | 'lines' = 'facts'): Html {
  const shown = lines.filter(([, value]) => value !== undefined)
  return html`<dl class="${arranged}">
    ${shown.map(
      ([name, value]) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`
}

export function colourOf({ status, proof }: Pick<LatestRun, 'status' | 'proof'>) {
  if (status === 'failed') return 'bad'
  if (status === 'complete') return proof === 'proven' || proof === 'settled' ? 'good' : 'weak'
  return status === 'running' || status === 'waiting' ? 'busy' : 'quiet'
}
