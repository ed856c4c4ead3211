import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { promtool, PROMTOOL } from '../support/metrics.ts'

if (PROMTOOL === undefined) {
  test('the alerts are not played, since promtool is not installed here', () => {
    console.log('untested: promtool test rules. It is in the package prometheus of Debian.')
  })
} else {
  test('each alert is raised when it must, and stays silent otherwise', () => {
    const rules = fileURLToPath(new URL('../../docs/ops/alerts.yml', import.meta.url))

    expect(promtool(['check', 'rules', rules])).toBe('')
    expect(promtool(['test', 'rules', fileURLToPath(new URL('alerts.promtool.yml', import.meta.url))])).toBe('')
  })
}
