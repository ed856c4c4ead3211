import { CUT_BEGINNING, CUT_MARK } from '../../sorted-page.ts'

/** How many bytes of a rejected record are kept. */
export const MOST_PAYLOAD_BYTES = 64 * 1024

/** Longer fields are cut to their beginning. */
const MOST_FIELD_BYTES = 2048
const BEGINNING = 300

/**
 * The payload to store for a rejected record: whole up to 64 KiB. In a longer record, long fields are cut to their beginning, and
 * fields without room are left out; the result is JSON and says what was cut. `payload` is the record as JSON.
 */
export function cutPayload(record: unknown, payload: string): string {
  const bytes = Buffer.byteLength(payload)
  if (bytes <= MOST_PAYLOAD_BYTES) return payload
  if (typeof record !== 'object' || record === null || Array.isArray(record)) {
    return JSON.stringify({
      [CUT_MARK]: `The record has ${bytes} bytes; this is its beginning.`,
      [CUT_BEGINNING]: beginningOf(payload),
    })
  }
  const kept: [string, unknown][] = []
  let left = MOST_PAYLOAD_BYTES - MOST_FIELD_BYTES
  let [shortened, leftOut] = [0, 0]
  for (const [name, value] of Object.entries(record)) {
    const short = shortenedOf(value)
    const needed = bytesOf(name) + bytesOf(short ?? value) + 2
    if (needed > left || Buffer.byteLength(name) > MOST_FIELD_BYTES) {
      leftOut += 1
      continue
    }
    left -= needed
    if (short !== undefined) shortened += 1
    kept.push([name, short ?? value])
  }
  const what = `The record has ${bytes} bytes: ${shortened} long fields are kept to their beginning, and ${leftOut} fields are left out.`
  return JSON.stringify(Object.fromEntries([...kept, [CUT_MARK, what]]))
}

/** The beginning of a long value; undefined if it is short enough. */
function shortenedOf(value: unknown): string | undefined {
  const text = JSON.stringify(value)
  if (Buffer.byteLength(text) <= MOST_FIELD_BYTES) return undefined
  return beginningOf(typeof value === 'string' ? value : text)
}

function beginningOf(text: string): string {
  return `${text.slice(0, BEGINNING).toWellFormed()}… [cut: ${text.length} characters in all]`
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value)) + 1
}
