import { createHash } from 'node:crypto'
import { html, raw } from 'hono/html'
import { plainLines } from '../text/plain-text.ts'
import { isoTime } from '../time/moments.ts'
import { grouped, moment } from '../text/wording.ts'
import { ago } from './sentences.ts'
import { STYLE } from './style.ts'

/** A piece of a page. Texts put into it are escaped. */
export type Html = ReturnType<typeof html>

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

/** A whole page. `policy` puts what it may load into the page itself, for a file that no server sends. */
export async function framed(
  { title, policy = false }: { title: string; policy?: boolean },
  content: Html,
): Promise<string> {
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
        ${content}
      </body>
    </html>`
  return plainLines(page.toString())
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

/** Where a server has the page of a run. */
export function runPath(runId: number | undefined): string {
  return `/runs/${runId ?? ''}`
}
