/** A table of figures, set to the right; its first row is the head. */
export function table(rows: readonly (readonly string[])[]): string {
  const [header = [], ...body] = rows
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(header), line(header.map(() => '--:')), ...body.map(line)].join('\n')
}

export function list(items: readonly string[]): string {
  return items.map((item) => `- ${item}`).join('\n')
}

export function number(value: number): string {
  return Math.round(value).toLocaleString('en')
}

/** To three figures, for what does not deserve more. */
export function about(value: number): string {
  return number(Number(value.toPrecision(3)))
}

export function seconds(ms: number): string {
  return (ms / 1000).toFixed(ms < 10_000 ? 2 : 1)
}

export function megabytes(bytes: number): string {
  const value = bytes / 1024 ** 2
  return value < 10 ? value.toFixed(1) : number(value)
}

export function percent(share: number): string {
  return share > 0 && share < 0.0005 ? 'less than 0.1 %' : `${(share * 100).toFixed(1)} %`
}

export function span(minutes: number): string {
  if (minutes < 90) return `${minutes.toFixed(1)} min`
  return `${(minutes / 60).toFixed(1)} h`
}
