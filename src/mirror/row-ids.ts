/** Row numbers as they are stored in one column: little-endian int32, on the machines there are. */
export function rowIdsFrom(rowIds: ArrayLike<number>): Buffer {
  return Buffer.from(Int32Array.from(rowIds).buffer)
}

/** The row numbers in such a column. */
export function rowIdsIn(blob: Buffer): number[] {
  // In a loop: to spread a typed array takes six times as long.
  const rowIds: number[] = []
  for (let at = 0; at < blob.length; at += 4) rowIds.push(blob.readInt32LE(at))
  return rowIds
}
