/** Numbers by which a received record is recognised; two records share one about once in 9,000,000,000,000,000 times, unless the writer knows the key. */
export type Fingerprint = ReturnType<typeof fingerprintWith>

/** The steps, by their name: records are not recognised by fingerprints that were made in other steps. */
export const FINGERPRINT_STEPS = 'HalfSipHash-1-3'

export const KEY_BYTES = 16

const ID_BYTES = 36
/** The bit in which upper and lower case differ; digits and dashes have it too. */
const LOWER_CASE = 0x2020_2020
/** Keeps the fingerprints of ids apart from those of records. */
const OF_IDS = 0x1d

/**
 * Makes the fingerprint of a key of KEY_BYTES random bytes. Customers choose their own names: without a key, one of them
 * could work out a name that gives his record the fingerprint of another one.
 *
 * The steps are those of HalfSipHash-1-3 with 64 bits of result, except that all of its state starts from the key, 128 bits
 * and not 64. The state is secret from the first step to the last, so no step can be undone, or tried out elsewhere. Four
 * bytes go in at a time; the last word holds those that are left, and how many there were. One round for each word is enough, since no
 * result is shown: a customer who changes his record learns a night later, at the earliest, whether it has the fingerprint of another.
 */
export function fingerprintWith(key: Uint8Array) {
  const ofRecords = beginning(key)
  const ofIds = ofRecords.with(0, Number(ofRecords[0]) ^ OF_IDS)
  const state = new Int32Array(4)
  return {
    /** The fingerprint of the bytes of a record, in `[from, to)`: a whole number of 53 bits. */
    record(bytes: DataView, from: number, to: number): number {
      state.set(ofRecords)
      takeBytes(state, bytes, from, to, 0)
      const first = half(state, 2, 0xee)
      const second = half(state, 1, 0xdd)
      return (second & 0x1f_ffff) * 2 ** 32 + (first >>> 0)
    },
    /** The fingerprint of the UUID at `from`, in upper or lower case: a whole number of 32 bits. */
    id(bytes: DataView, from: number): number {
      state.set(ofIds)
      takeBytes(state, bytes, from, from + ID_BYTES, LOWER_CASE)
      return half(state, 2, 0xee) >>> 0
    },
  }
}

/** The key, and in two of its parts the constants of HalfSipHash. */
function beginning(key: Uint8Array): Int32Array {
  if (key.length !== KEY_BYTES) throw new Error(`A key of fingerprints has ${KEY_BYTES} bytes, and not ${key.length}.`)
  const parts = new DataView(key.buffer, key.byteOffset, KEY_BYTES)
  const part = (index: number) => parts.getInt32(4 * index, true)
  return Int32Array.of(part(0), part(1), part(2) ^ 0x6c79_6765, part(3) ^ 0x7465_6462)
}

/** Takes in the bytes from `from` to before `to`, with `bits` set in each whole word, and then how many there were. */
function takeBytes(state: Int32Array, bytes: DataView, from: number, to: number, bits: number): void {
  const rest = from + ((to - from) & ~3)
  takeWords(state, bytes, from, rest, bits)
  let last = (to - from) << 24
  for (let at = to - 1; at >= rest; at -= 1) last ^= bytes.getUint8(at) << (8 * (at - rest))
  LAST_WORD.setInt32(0, last, true)
  takeWords(state, LAST_WORD, 0, 4, 0)
}

const LAST_WORD = new DataView(new ArrayBuffer(4))

/** 32 bits of what a state comes to once all words are in: a round for a word without bits changes nothing else. */
function half(state: Int32Array, place: number, mark: number): number {
  state[place] = Number(state[place]) ^ mark
  takeWords(state, THREE_ROUNDS, 0, 12, 0)
  return Number(state[1]) ^ Number(state[3])
}

const THREE_ROUNDS = new DataView(new ArrayBuffer(12))

/** Takes in whole words, in a round for each. */
function takeWords(state: Int32Array, bytes: DataView, from: number, to: number, bits: number): void {
  // Whole numbers from the start, or each of them is kept as a fraction would be.
  let v0 = Number(state[0]) | 0
  let v1 = Number(state[1]) | 0
  let v2 = Number(state[2]) | 0
  let v3 = Number(state[3]) | 0
  for (let at = from; at < to; at += 4) {
    const word = bytes.getInt32(at, true) | bits
    v3 ^= word
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
    v0 ^= word
  }
  state[0] = v0
  state[1] = v1
  state[2] = v2
  state[3] = v3
}
