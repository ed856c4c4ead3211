import { expect, test } from 'vitest'
import { columnsOf } from '../../src/cli/output/say.ts'
import { syncCommand } from '../../src/cli/sync.ts'
import { afterANight } from '../support/commands.ts'
import { syncRuns } from '../support/json-page.ts'
import { valueOf } from '../support/mirror-file.ts'
import { runCli } from '../support/run-cli.ts'
import { runOnScreen } from '../support/screen.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'

test('--quick says what it found, and how many pages it did not read', async () => {
  const { folder, mirror } = await afterANight([3000])

  const { code, stdout, stderr } = await runCli(['sync', '--quick'], { cwd: folder })

  expect(code).toBe(0)
  expect(stdout).toMatch(/^acme +partial /m)
  expect(stdout).toMatch(/^acme: 1 new, 2 missing; \d+ of 3\d pages trusted without reading$/m)
  expect(stderr).toBe('')
  expect(valueOf(mirror, 'SELECT COUNT(*) FROM customers WHERE missing_since IS NOT NULL')).toBe(2)
})

test('--quick --json prints the report with the pages that were trusted', async () => {
  const { folder } = await afterANight([3000])

  const { code, stdout } = await runCli(['sync', 'acme', '--quick', '--json'], { cwd: folder })

  expect(code).toBe(0)
  const [run] = syncRuns(stdout)
  expect(run).toMatchObject({ status: 'partial', proof: 'unproven', reasons: ['quick'], inserted: 1, missing: 2 })
  expect(run?.trustedPages).toBeGreaterThan(10)
})

test('before the first full run, --quick asks for one, and ends with 3', async () => {
  const { folder, mirror } = aWorkplace(organizationsOf(await aSandbox({ customers: [120] })))

  const { code, stdout, stderr } = await runCli(['sync', '--quick'], { cwd: folder })

  expect(code).toBe(3)
  expect(stdout).toContain('acme: nothing was read: the order of its list is not known yet\n')
  expect(stderr).toContain('customer-mirror sync acme\n')
  expect(valueOf(mirror, 'SELECT requests FROM runs')).toBe(0)
})

test('what to do about a quick run fits a terminal of 80 columns, with its command whole', async () => {
  const { config } = aWorkplace(organizationsOf(await aSandbox({ customers: [120] })))

  const { code, lines } = await runOnScreen(syncCommand, ['acme', '--quick', '--config', config])

  expect(code).toBe(3)
  expect(lines.find((line) => line.includes('customer-mirror sync acme --config'))).toBeDefined()
  const others = lines.filter((line) => !line.includes(config) && !line.startsWith('Mirror: '))
  expect(others.filter((line) => columnsOf(line) > 80)).toEqual([])
})

test('--quick with --limit-pages is refused', async () => {
  const { folder } = aWorkplace(organizationsOf(await aSandbox({ customers: [1] })))

  const { code, stderr } = await runCli(['sync', '--quick', '--limit-pages', '3'], { cwd: folder })

  expect(code).toBe(2)
  expect(stderr).toContain("'--quick' cannot be used with option '--limit-pages <number>'")
})
