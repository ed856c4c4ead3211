import type { Fingerprint } from '../../src/model/fingerprint.ts'

/** The fingerprint of a record as it is sent. */
export function printOf(fingerprint: Fingerprint, sent: unknown): number {
  const bytes = viewOf(JSON.stringify(sent))
  return fingerprint.record(bytes, 0, bytes.byteLength)
}

/** A text in UTF-8. */
export function viewOf(text: string): DataView {
  const bytes = Buffer.from(text)
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
