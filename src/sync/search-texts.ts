import type { Candidate, Named } from '../model/run.ts'

export type Field = keyof Named
export const FIELDS: readonly Field[] = ['email', 'username', 'name']

export type Text = { field: Field; text: string }

/** The texts to search for a candidate by, each once: the most searches that are made for it. */
export function textsOfCandidate(candidate: Candidate): Text[] {
  const texts = new Map<string, Text>()
  for (const field of FIELDS) {
    for (const { [field]: text } of [candidate, ...candidate.earlier]) {
      if (isTelling(text) && !texts.has(text)) texts.set(text, { field, text })
    }
  }
  return [...texts.values()]
}

/**
 * One or two letters would match half of the list, but two Chinese characters may be a name, so bytes are counted. No address is as long
 * as a page of text.
 */
export function isTelling(text: string | null): text is string {
  return text !== null && Buffer.byteLength(text.trim()) >= 3 && text.length <= 255
}
