import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { everyMetric, metricsIn, notThere, opsFile } from '../support/metrics.ts'

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

test('each alert has a name of its own, and the page about operations says what to do', () => {
  const page = readFileSync(new URL('../../docs/operate/operations.md', import.meta.url), 'utf8')
  const names = RULES.map(({ alert }) => alert)

  expect(new Set(names).size).toBe(names.length)
  expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([])
})

test('each alert asks for metrics, labels and values that there are', async () => {
  const named = RULES.flatMap(({ expr }) => metricsIn(expr))

  expect(named.length).toBeGreaterThan(RULES.length)
  expect(notThere(named, await everyMetric())).toEqual([])
})

test('an alert about the age of a moment is raised for one in the future too', () => {
  const ages = RULES.filter(({ expr }) => /^\(?time\(\) - /.test(expr))

  expect(ages.map(({ alert }) => alert)).toEqual(
    expect.arrayContaining(['CustomerMirrorStale', 'CustomerMirrorUnproven', 'CustomerMirrorStatusOld']),
  )
  expect(ages.filter(({ expr }) => !/ or .* - time\(\) > 2 \* 3600/.test(expr)).map(({ alert }) => alert)).toEqual([])
})

test('each alert has an example in which it is raised', () => {
  const examples = readFileSync(EXAMPLES, 'utf8')

  expect(RULES.filter(({ alert }) => !examples.includes(`{alertname="${alert}"}`)).map(({ alert }) => alert)).toEqual(
    [],
  )
})
