/** A table of figures, set to the right; its first row is the head. */
export function table(rows: readonly (readonly string[])[]): string {
  const [header = [], ...body] = rows
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(header), line(header.map(() => '--:')), ...body.map(line)].join('\n')
}

/** What was measured on, as one sentence. */
export function measuredOn(machine: Readonly<Record<string, string>>): string {
  const facts = Object.entries(machine).map(([name, value]) => `${name} ${value}`)
  return `Measured on: ${facts.join('; ')}.`
}

/** The page with this text between the two comments that bound a part of it. */
export function withPart(page: string, part: 'curves' | 'scale', text: string): string {
  const [begin, end] = [`<!-- ${part} -->\n`, `<!-- end of ${part} -->\n`]
  const [before, inside = ''] = page.split(begin)
  const [, after] = inside.split(end)
  if (before === undefined || after === undefined) throw new Error(`The page has no part "${part}".`)
  return `${before}${begin}\n${text}\n${end}${after}`
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
