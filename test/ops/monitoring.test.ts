import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { everyMetric, metricsIn, notThere, opsFile, promtool, PROMTOOL } from '../support/metrics.ts'
import { temporaryFolder } from '../support/mirror-file.ts'

type Rule = { alert: string; expr: string; labels: object; annotations: object }
const RULES: Rule[] = parse(opsFile('alerts.yml')).groups.flatMap(({ rules }: { rules: Rule[] }) => rules)
const EXAMPLES = fileURLToPath(new URL('alerts.promtool.yml', import.meta.url))

test('each alert has a name of its own, a runbook that begins with the command to run, and an example in which it is raised', () => {
  const page = readFileSync(new URL('../../docs/operate/runbooks.md', import.meta.url), 'utf8')
  const examples = readFileSync(EXAMPLES, 'utf8')
  const names = RULES.map(({ alert }) => alert)
  const sentence = expect.stringMatching(/.{10}/)

  expect(new Set(names).size).toBe(names.length)
  for (const { labels, annotations } of RULES) {
    expect(labels).toEqual({ severity: expect.stringMatching(/^(critical|warning|info)$/) })
    expect(annotations).toEqual({ summary: sentence, description: sentence })
  }
  expect(names.filter((name) => !page.includes(`\n## ${name}\n\n\`\`\`sh\n`))).toEqual([])
  expect(opsFile('README.md')).toContain('/docs/operate/runbooks.md#{{ .CommonLabels.alertname | toLower }}')
  expect(names.filter((name) => !examples.includes(`{alertname="${name}"}`))).toEqual([])
})

test('an alert about the age of a moment is raised for one in the future too', () => {
  const ages = RULES.filter(({ expr }) => /^\(?time\(\) - /.test(expr))

  expect(ages.map(({ alert }) => alert)).toEqual(
    expect.arrayContaining(['CustomerMirrorStale', 'CustomerMirrorUnproven', 'CustomerMirrorStatusOld']),
  )
  const says = ({ expr, annotations }: Rule) =>
    / or .* - time\(\) > 2 \* 3600/.test(expr) && /date in the future/.test(JSON.stringify(annotations))
  expect(ages.filter((rule) => !says(rule)).map(({ alert }) => alert)).toEqual([])
})

type Dashboard = {
  panels: { targets?: { expr: string; datasource: object }[] }[]
  templating: { list: { name: string; definition?: string }[] }
}
const { panels, templating }: Dashboard = JSON.parse(opsFile('grafana-dashboard.json'))
const TARGETS = panels.flatMap(({ targets = [] }) => targets)
const QUERIES = TARGETS.map(({ expr }) => expr)

test('every alert and every query names metrics, labels and values that there are, and variables of the dashboard or of Grafana', async () => {
  const alerts = RULES.flatMap(({ expr }) => metricsIn(expr))
  const queries = [...QUERIES, ...templating.list.map(({ definition = '' }) => definition)].flatMap(metricsIn)
  const known = [...templating.list.map(({ name }) => name), '__rate_interval']
  const variables = QUERIES.flatMap((query) => [...query.matchAll(/\$(\w+)/g)].map(([, name = '']) => name))

  expect(alerts.length).toBeGreaterThan(RULES.length)
  expect(queries.length).toBeGreaterThan(20)
  expect(notThere([...alerts, ...queries], await everyMetric())).toEqual([])
  expect(variables.filter((name) => !known.includes(name))).toEqual([])
  for (const { datasource } of TARGETS) expect(datasource).toEqual({ type: 'prometheus', uid: '${datasource}' })
})

test.skipIf(PROMTOOL === undefined)('Prometheus can read every query, and raises each alert when it must', () => {
  const file = join(temporaryFolder(), 'queries.yml')
  const queries = QUERIES.map((expr, n) => ({
    record: `query:${n}`,
    expr: expr.replaceAll('$__rate_interval', '5m').replaceAll(/\$\w+/g, '.+'),
  }))
  writeFileSync(file, JSON.stringify({ groups: [{ name: 'queries', rules: queries }] }))
  const alerts = fileURLToPath(new URL('../../docs/ops/alerts.yml', import.meta.url))

  for (const rules of [file, alerts]) expect(promtool(['check', 'rules', rules])).toBe('')
  // Otherwise each stays silent.
  expect(promtool(['test', 'rules', EXAMPLES])).toBe('')
})
