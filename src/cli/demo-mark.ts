import { createHash } from 'node:crypto'

/** The configuration of a demo, with a last line by which a later demo recognizes it as long as it is unchanged. */
export function markedAsDemo(text: string): string {
  return `${text}${MARK}${createHash('sha256').update(text).digest('hex')}\n`
}

/** Whether a demo wrote this configuration, and it was not changed since. */
export function isOfDemo(text: string): boolean {
  const end = text.lastIndexOf(MARK)
  return end >= 0 && text === markedAsDemo(text.slice(0, end))
}

const MARK = '# A demo wrote this file, and the next one replaces it, its mirror and its queue, unless it was changed: '
