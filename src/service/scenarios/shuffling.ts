import type { ServiceCustomer } from '../customers.ts'

type Rows = readonly ServiceCustomer[]

/** The rows in an order that depends on `salt` alone. */
export function shuffled(rows: Rows, salt: number): ServiceCustomer[] {
  const scored = rows.map((row) => ({ row, score: scoreOf(row.id, salt) }))
  return scored.toSorted((one, other) => one.score - other.score).map(({ row }) => row)
}

/**
 * The rows, shuffled within each block; neighbours are in one block if `same` returns true. Blocks outside `[start, end)` are
 * not shuffled, so that a page of a long list costs no more than a page of a short one.
 */
export function shuffledInBlocks(
  rows: Rows,
  salt: number,
  same: (one: number, next: number) => boolean,
  { start, end }: { start: number; end: number },
): Rows {
  let from = Math.min(start, rows.length)
  while (from > 0 && from < rows.length && same(from - 1, from)) from -= 1
  const result = [...rows]
  while (from < Math.min(end, rows.length)) {
    let to = from + 1
    while (to < rows.length && same(to - 1, to)) to += 1
    result.splice(from, to - from, ...shuffled(rows.slice(from, to), salt))
    from = to
  }
  return result
}

/** A pseudo-random number for a text and a salt (FNV-1a with the finalizer of MurmurHash). */
export function scoreOf(text: string, salt: number): number {
  let hash = 0x81_1c_9d_c5 ^ salt
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01_00_01_93)
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85_eb_ca_6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2_b2_ae_35)
  return (hash ^ (hash >>> 16)) >>> 0
}
