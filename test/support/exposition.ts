/** A metric as Prometheus reads it. */
export type Family = { type: string; help: string; samples: Sample[] }
type Sample = { name: string; labels: Record<string, string>; value: number }

/** Every label is `name="value"`, where `\`, `"` and line ends are escaped. */
const LABELS = /([a-zA-Z_]\w*)="((?:[^"\\\n]|\\[\\"n])*)"/
const SAMPLE = new RegExp(String.raw`^([a-zA-Z_:][\w:]*)(?:\{((?:${LABELS.source},?)*)\})? (\S+)$`)

/** Reads the text format of Prometheus (version 0.0.4), and throws for whatever its rules forbid. */
export function readExposition(text: string): Map<string, Family> {
  if (!text.endsWith('\n')) throw new Error('The last line does not end.')
  const families = new Map<string, Family>()
  const series = new Set<string>()
  let family: [name: string, Family] = ['', { type: '', help: '', samples: [] }]
  for (const line of text.split('\n').filter((each) => each !== '')) {
    const [, kind, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? []
    if (kind === 'HELP') {
      if (families.has(name)) throw new Error(`${name} stands in two places.`)
      family = [name, { type: '', help: rest, samples: [] }]
      families.set(...family)
    } else if (kind === 'TYPE') {
      if (name !== family[0] || !/^(counter|gauge|histogram)$/.test(rest)) throw new Error(`No type: ${line}`)
      family[1].type = rest
    } else family[1].samples.push(readSample(line, family, series))
  }
  return families
}

function readSample(line: string, [family, { type }]: [string, Family], series: Set<string>): Sample {
  const [, name = '', labels = '', value = ''] = SAMPLE.exec(line)?.filter((_, group) => ![3, 4].includes(group)) ?? []
  const isOfFamily = name === family || (type === 'histogram' && /^_(bucket|sum|count)$/.test(name.replace(family, '')))
  if (!isOfFamily || type === '') throw new Error(`Not of ${family}: ${line}`)
  if ((type === 'counter') !== family.endsWith('_total')) throw new Error(`Only counters end with _total: ${line}`)
  if (!/^([+-]?Inf|Nan|-?[\d.]+(e[+-]?\d+)?)$/i.test(value)) throw new Error(`No number: ${line}`)
  const key = `${name}{${labels}}`
  if (series.has(key)) throw new Error(`Twice: ${line}`)
  series.add(key)
  const pairs = [...labels.matchAll(new RegExp(LABELS, 'g'))].map(([, label = '', of = '']) => [label, of])
  return { name, labels: Object.fromEntries(pairs), value: Number(value.replace('Inf', 'Infinity')) }
}
