/** Ascending row numbers as an int8multirange: most rows of an organization follow one another. */
export function rangesOf(rows: Iterable<number>): string {
  const ranges: string[] = []
  let from = 0
  let to = 0
  for (const row of rows) {
    if (row !== to) {
      if (to > from) ranges.push(`[${from},${to})`)
      from = row
    }
    to = row + 1
  }
  if (to > from) ranges.push(`[${from},${to})`)
  return `{${ranges.join(',')}}`
}
