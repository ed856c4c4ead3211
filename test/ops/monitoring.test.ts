import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { everyMetric, metricsIn, notThere, opsFile, promtool, PROMTOOL } from '../support/metrics.ts'
import { temporaryFolder } from '../support/temp-folder.ts'

const rule = z.strictObject({
  alert: z.string().regex(/^CustomerMirror[A-Z]\w+$/),
  expr: z.string(),
  for: z
    .string()
    .regex(/^\d+[mhd]$/)
    .optional(),
  labels: z.strictObject({ severity: z.enum(['critical', 'warning', 'info']) }),
  annotations: z.strictObject({ summary: z.string().min(10), description: z.string().min(10) }),
})
const RULES = z
  .strictObject({ groups: z.array(z.strictObject({ name: z.string(), rules: z.array(rule) })) })
  .parse(parse(opsFile('alerts.yml')))
  .groups.flatMap(({ rules }) => rules)
const EXAMPLES = fileURLToPath(new URL('alerts.promtool.yml', import.meta.url))

test('each alert has a name of its own, a runbook that begins with the command to run, and an example in which it is raised', () => {
  const page = readFileSync(new URL('../../docs/operate/runbooks.md', import.meta.url), 'utf8')
  const examples = readFileSync(EXAMPLES, 'utf8')
  const names = RULES.map(({ alert }) => alert)

  expect(new Set(names).size).toBe(names.length)
  expect(names.filter((name) => !page.includes(`\n## ${name}\n\n\`\`\`sh\n`))).toEqual([])
  expect(names.filter((name) => !examples.includes(`{alertname="${name}"}`))).toEqual([])
})

test('an alert about the age of a moment is raised for one in the future too', () => {
  const ages = RULES.filter(({ expr }) => /^\(?time\(\) - /.test(expr))

  expect(ages.map(({ alert }) => alert)).toEqual(
    expect.arrayContaining(['CustomerMirrorStale', 'CustomerMirrorUnproven', 'CustomerMirrorStatusOld']),
  )
  expect(ages.filter(({ expr }) => !/ or .* - time\(\) > 2 \* 3600/.test(expr)).map(({ alert }) => alert)).toEqual([])
})

const datasource = z.strictObject({ type: z.literal('prometheus'), uid: z.literal('${datasource}') })
const panel = z.looseObject({
  title: z.string().min(3),
  targets: z.array(z.looseObject({ expr: z.string(), datasource })).default([]),
})
const variable = z.looseObject({ name: z.string(), definition: z.string().default('') })
const { panels, templating } = z
  .looseObject({
    uid: z.literal('customer-mirror'),
    title: z.literal('Customer Mirror'),
    templating: z.strictObject({ list: z.array(variable) }),
    panels: z.array(panel),
  })
  .parse(JSON.parse(opsFile('grafana-dashboard.json')))
const QUERIES = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))

test('every alert and every query names metrics, labels and values that there are', async () => {
  const alerts = RULES.flatMap(({ expr }) => metricsIn(expr))
  const queries = [...QUERIES, ...templating.list.map(({ definition }) => definition)].flatMap(metricsIn)

  expect(alerts.length).toBeGreaterThan(RULES.length)
  expect(queries.length).toBeGreaterThan(20)
  expect(notThere([...alerts, ...queries], await everyMetric())).toEqual([])
})

test('every variable that a query names is one of the dashboard, or of Grafana', () => {
  const known = [...templating.list.map(({ name }) => name), '__rate_interval']
  const named = QUERIES.flatMap((query) => [...query.matchAll(/\$(\w+)/g)].map(([, name = '']) => name))

  expect(named.filter((name) => !known.includes(name))).toEqual([])
})

test('Prometheus can read every query', () => {
  const file = join(temporaryFolder(), 'queries.yml')
  const rules = QUERIES.map((expr, n) => ({
    record: `query:${n}`,
    expr: expr.replaceAll('$__rate_interval', '5m').replaceAll(/\$\w+/g, '.+'),
  }))
  writeFileSync(file, JSON.stringify({ groups: [{ name: 'queries', rules }] }))

  expect(promtool(['check', 'rules', file])).toBe('')
})

test.skipIf(PROMTOOL === undefined)('each alert is raised when it must, and stays silent otherwise', () => {
  const rules = fileURLToPath(new URL('../../docs/ops/alerts.yml', import.meta.url))

  expect(promtool(['check', 'rules', rules])).toBe('')
  expect(promtool(['test', 'rules', EXAMPLES])).toBe('')
})
