/** Row numbers as stored in one column: little-endian int32, as on all supported machines. */
export function rowIdsFrom(rowIds: ArrayLike<number>): Buffer {
  return Buffer.from(Int32Array.from(rowIds).buffer)
}

/** The row numbers in such a column. */
export function rowIdsIn(blob: Buffer): number[] {
  // A loop: spreading a typed array takes six times as long.
  const rowIds: number[] = []
  for (let at = 0; at < blob.length; at += 4) rowIds.push(blob.readInt32LE(at))
  return rowIds
}
