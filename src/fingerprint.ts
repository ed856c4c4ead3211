/**
 * A number of 53 bits by which a received record is recognised: the same fields with the same values in the same order
 * give the same one, and two different records share one about once in 9,000,000,000,000,000 times, as
 * long as the writer does not know the key. Throws RangeError for a record nested too deeply to be written as JSON.
 */
export type Fingerprint = (record: unknown) => number

/** Bytes of a key. */
export const KEY_BYTES = 16

/**
 * Makes the fingerprint of a key of KEY_BYTES random bytes. Customers choose their own names: without a key, one of them
 * could work out a name that gives his record the fingerprint of another one.
 *
 * The steps are those of HalfSipHash-2-4 with 64 bits of result, except that all of its state starts from the key, 128 bits
 * and not 64. The state is secret from the first step to the last, so no step can be undone, or tried out elsewhere. Words of
 * 32 bits go in: of each field the hash of its name, under the same key, joined with its kind and length, and its text, two
 * characters a word; at the end the number of fields. By these a record can be told from every other one.
 */
export function fingerprintWith(key: Uint8Array): Fingerprint {
  const [k0, k1, k2, k3] = beginning(key)
  const hashOf = nameHashes([k0, k1, k2, k3])
  const state = new Int32Array(4)

  return function fingerprint(record) {
    if (!isFields(record)) return fingerprint({ '': record })
    let count = 0
    // Whole numbers from the start, or each of them is kept as a fraction would be.
    let v0 = k0 | 0
    let v1 = k1 | 0
    let v2 = k2 | 0
    let v3 = k3 | 0
    for (const field in record) {
      const value = record[field]
      const isText = typeof value === 'string'
      const name = hashOf(field)
      // A number too great for JSON is infinite here, and would be written as null.
      const text = isText ? value : typeof value === 'number' ? String(value) : JSON.stringify(value)
      const { length } = text
      count += 1
      let word = name.first
      // Here rather than in a function: a million records a night come through these lines.
      for (let index = -4; index < length; index += 2) {
        if (index >= 0) word = text.charCodeAt(index) | (index + 1 < length ? text.charCodeAt(index + 1) << 16 : 0)
        // What kind of value it is keeps the text "1" apart from the number 1; its name, one field from the next.
        else if (index === -2) word = name.second ^ (2 * length + (isText ? 1 : 0))
        v3 ^= word
        for (let round = 0; round < 2; round += 1) {
          v0 = (v0 + v1) | 0
          v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
          v0 = (v0 << 16) | (v0 >>> 16)
          v2 = (v2 + v3) | 0
          v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
          v0 = (v0 + v3) | 0
          v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
          v2 = (v2 + v1) | 0
          v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
          v2 = (v2 << 16) | (v2 >>> 16)
        }
        v0 ^= word
      }
    }
    state[0] = v0
    state[1] = v1
    state[2] = v2
    state[3] = v3
    take(state, count)
    const { first, second } = finish(state)
    return (second & 0x1f_ffff) * 2 ** 32 + (first >>> 0)
  }
}

type State = [number, number, number, number]

/** The key, and in two of its parts the constants of HalfSipHash. */
function beginning(key: Uint8Array): State {
  if (key.length !== KEY_BYTES) throw new Error(`A key of fingerprints has ${KEY_BYTES} bytes, and not ${key.length}.`)
  const parts = new DataView(key.buffer, key.byteOffset, KEY_BYTES)
  const part = (index: number) => parts.getInt32(4 * index, true)
  return [part(0), part(1), part(2) ^ 0x6c79_6765, part(3) ^ 0x7465_6462]
}

/** One word into the state: as above, where this stands written out. */
function take(state: Int32Array, word: number): void {
  let v0 = Number(state[0])
  let v1 = Number(state[1])
  let v2 = Number(state[2])
  let v3 = Number(state[3]) ^ word
  for (let round = 0; round < 2; round += 1) {
    v0 = (v0 + v1) | 0
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
    v0 = (v0 << 16) | (v0 >>> 16)
    v2 = (v2 + v3) | 0
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
    v0 = (v0 + v3) | 0
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
    v2 = (v2 + v1) | 0
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
    v2 = (v2 << 16) | (v2 >>> 16)
  }
  state[0] = v0 ^ word
  state[1] = v1
  state[2] = v2
  state[3] = v3
}

type Hash = { first: number; second: number }

/** The 64 bits a state comes to once all words are in. */
function finish(state: Int32Array): Hash {
  const half = (place: number, mark: number) => {
    state[place] = Number(state[place]) ^ mark
    // Four rounds without a word.
    take(state, 0)
    take(state, 0)
    return Number(state[1]) ^ Number(state[3])
  }
  return { first: half(2, 0xee), second: half(1, 0xdd) }
}

/** Names come again with every record; as many are kept as a service could reasonably have. */
const MOST_NAMES = 1000

/** Hashes of the names of fields, 64 bits each. */
function nameHashes(start: State): (name: string) => Hash {
  const known = new Map<string, Hash>()
  return (name) => {
    const before = known.get(name)
    if (before !== undefined) return before
    const state = Int32Array.from(start)
    for (let index = 0; index < name.length; index += 1) take(state, name.charCodeAt(index))
    take(state, ~name.length)
    const hash = finish(state)
    if (known.size < MOST_NAMES) known.set(name, hash)
    return hash
  }
}

function isFields(record: unknown): record is Readonly<Record<string, unknown>> {
  return typeof record === 'object' && record !== null
}
