import { expect, test } from 'vitest'
import { conformanceCommand } from '../../src/cli/check.ts'
import { runCommand } from '../support/run-command.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'

test('a service that throttles nearly every request is asked at most 40 times, and what was found until then is shown', async () => {
  const sandbox = await aSandbox({ customers: [1050], rateLimits: [{ requests: 2, windowMs: 1000 }] })
  const { config } = aWorkplace(organizationsOf(sandbox))
  const { code, stdout } = await runCommand(conformanceCommand, ['acme', '--config', config])

  expect(sandbox.organization('acme').requests.length).toBeLessThanOrEqual(40)
  expect(code).toBe(0)
  expect(stdout).toMatch(/^order .* ✔ +by created_at asc/m)
  expect(stdout).toMatch(/^rate limit .* ! +X-RateLimit-Limit: 2; \d+ × 429/m)
})
