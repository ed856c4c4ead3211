/**
 * A number of 53 bits by which a received record is recognised: the same fields with the same values in the same order
 * give the same one, and two different records share one about once in 9,000,000,000,000,000 times. No protection against
 * somebody who means to make two alike. Throws RangeError for a record nested too deeply to be written as JSON.
 */
export function fingerprint(record: unknown): number {
  if (!isFields(record)) return fingerprint({ '': record })
  let [first, second]: [number, number] = BEGINNINGS
  for (const field in record) {
    const value = record[field]
    const isText = typeof value === 'string'
    // What kind of value it is keeps the text "1" apart from the number 1; its name, one field from the next.
    const name = hashOf(field)
    // A number too great for JSON is infinite here, and would be written as null.
    const text = isText ? value : typeof value === 'number' ? String(value) : JSON.stringify(value)
    const { length } = text
    first = Math.imul(Math.imul(first ^ name.first ^ (isText ? TEXT : OTHER), FIRST) ^ length, FIRST)
    second = Math.imul(Math.imul(second ^ name.second, SECOND) ^ length, SECOND)
    // Two at a time, and here rather than in a function: a million records a night come through these lines.
    for (let index = 0; index < length; index += 2) {
      const units = text.charCodeAt(index) | (index + 1 < length ? text.charCodeAt(index + 1) << 16 : 0)
      first = stirred(first ^ units, FIRST, FIRST_SHIFT)
      second = stirred(second ^ units, SECOND, SECOND_SHIFT)
    }
  }
  return (stirred(second, FIRST, FIRST_SHIFT) & 0x1f_ffff) * 2 ** 32 + (stirred(first, SECOND, FIRST_SHIFT) >>> 0)
}

const BEGINNINGS: [number, number] = [0x2545_f491, 0x4f6c_dd1d]
const [FIRST, SECOND] = [0x9e37_79b1, 0x85eb_ca77]
const [TEXT, OTHER] = [0x1234_5678, 0x0abc_def1]

/** How far each of the two is shifted: changes of a text that make up for one another in one do not in the other. */
const [FIRST_SHIFT, SECOND_SHIFT] = [15, 13]

/** One step, in which each bit of `bits` counts for each bit above it, and the upper half for the lower. */
function stirred(bits: number, factor: number, shift: number): number {
  const product = Math.imul(bits, factor)
  return product ^ (product >>> shift)
}

function isFields(record: unknown): record is Readonly<Record<string, unknown>> {
  return typeof record === 'object' && record !== null
}

type NameHash = { first: number; second: number }
const hashes = new Map<string, NameHash>()
/** Names come again with every record; as many are kept as a service could reasonably have. */
const MOST_NAMES = 1000

function hashOf(field: string): NameHash {
  const known = hashes.get(field)
  if (known !== undefined) return known
  const name = { first: field.length, second: field.length }
  for (let index = 0; index < field.length; index += 1) {
    const unit = field.charCodeAt(index)
    name.first = stirred(name.first ^ unit, FIRST, FIRST_SHIFT)
    name.second = stirred(name.second ^ unit, SECOND, SECOND_SHIFT)
  }
  if (hashes.size < MOST_NAMES) hashes.set(field, name)
  return name
}
