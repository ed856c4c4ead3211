import { readFileSync } from 'node:fs'
import type { Family } from './exposition.ts'

/** The files for operators. */
export function opsFile(name: string): string {
  return readFileSync(new URL(`../../docs/ops/${name}`, import.meta.url), 'utf8')
}

/** A metric as a query names it, with the values of its labels that it asks for. */
export type Named = { name: string; labels: { label: string; values: string[] }[] }

/** The metrics of ours that PromQL names. */
export function metricsIn(query: string): Named[] {
  return [...query.matchAll(/\b(customer_mirror_\w+)(?:\{([^}]*)\})?/g)].map(([, name = '', matchers = '']) => ({
    name,
    labels: [...matchers.matchAll(/(\w+)(?:=~|!=|=)"([^"]*)"/g)].map(([, label = '', values = '']) => ({
      label,
      values: values.split('|').filter((value) => value !== '' && !value.startsWith('$')),
    })),
  }))
}

/** What Prometheus adds to each series. */
const ADDED = ['job', 'instance']

/** What these metrics ask for that no sample has. */
export function notThere(named: readonly Named[], families: ReadonlyMap<string, Family>): string[] {
  return named.flatMap(({ name, labels }) => {
    const family = families.get(name) ?? families.get(name.replace(/_(bucket|sum|count)$/, ''))
    if (family === undefined) return [name]
    return labels.flatMap(({ label, values }) => {
      if (ADDED.includes(label)) return []
      const found = family.samples.map((sample) => sample.labels[label])
      if (found.every((value) => value === undefined)) return [`${name}{${label}}`]
      return values.filter((value) => !found.includes(value)).map((value) => `${name}{${label}="${value}"}`)
    })
  })
}
