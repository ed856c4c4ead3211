/** Row numbers as they are stored in one column: little-endian int32, on the machines there are. */
export function rowIdsFrom(rowIds: readonly number[]): Buffer {
  return Buffer.from(Int32Array.from(rowIds).buffer)
}

/** The row numbers in such a column. */
export function rowIdsIn(blob: Buffer): Int32Array {
  return new Int32Array(new Uint8Array(blob).buffer)
}
