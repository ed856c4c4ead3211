import { createHash } from 'node:crypto'

/** The next unsigned 32-bit number of a sequence. */
export type Random = () => number

/**
 * A sequence that is the same for the same seed on every machine. The generator (sfc32) has 128 bits of state, so that two
 * organizations do not share ids, as they could with a 32-bit counter.
 */
export function seededRandom(seed: string): Random {
  const digest = createHash('sha256').update(seed).digest()
  let a = digest.readInt32LE(0)
  let b = digest.readInt32LE(4)
  let c = digest.readInt32LE(8)
  let counter = digest.readInt32LE(12)
  return () => {
    const mixed = (a + b + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (((c << 21) | (c >>> 11)) + mixed) | 0
    return mixed >>> 0
  }
}

/** A whole number from 0, less than `limit`. */
export function below(random: Random, limit: number): number {
  return Math.floor((random() / 2 ** 32) * limit)
}

/** One of `items`. */
export function pick<Items extends readonly [unknown, ...unknown[]]>(random: Random, items: Items): Items[number] {
  return items[below(random, items.length)] ?? items[0]
}

/** A version 4 UUID in lower case. */
export function uuid(random: Random): string {
  const hex = [random(), random(), random(), random()].map((word) => word.toString(16).padStart(8, '0')).join('')
  const variant = '89ab'.charAt(below(random, 4))
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`
}
