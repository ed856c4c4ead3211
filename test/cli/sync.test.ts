import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { syncCommand } from '../../src/cli/sync.ts'
import { list, refusal } from '../support/fault-server.ts'
import { onlyRun, syncRuns } from '../support/json-page.ts'
import { rowsOf, valueOf } from '../support/mirror-file.ts'
import { runCli } from '../support/run-cli.ts'
import { runCommand } from '../support/run-command.ts'
import { aFaultServer, aSandbox, aWorkplace, organizationAt, organizationsOf } from '../support/workplace.ts'

test('prints a row for each organization and the place of the mirror, and writes nothing else, so that cron stays silent', async () => {
  const { folder, mirror } = aWorkplace(organizationsOf(await aSandbox({ customers: [120, 7, 0] })))
  const { code, stdout, stderr } = await runCli(['sync'], { cwd: folder })

  expect(code).toBe(0)
  expect(stdout.split('\n')[0]).toMatch(/^organization +status +customers +new +changed/)
  expect(stdout).toMatch(/^acme +complete +120 +120 /m)
  expect(stdout).toMatch(/^globex +complete +7 +7 /m)
  expect(stdout).toMatch(/^initech +complete +0 +0 /m)
  expect(stdout).toContain(`Mirror: ${mirror}\n`)
  expect(stderr).toBe('')
})

test('every customer of every organization is in the file, as the service has it', async () => {
  const sandbox = await aSandbox({ customers: [230, 7] })
  const { folder, mirror } = aWorkplace(organizationsOf(sandbox))
  await runCli(['sync'], { cwd: folder })

  for (const { id, customers } of sandbox.organizations) {
    const rows = rowsOf(
      mirror,
      `SELECT id, name, username, email, phone, address, company_name, language, timezone, created_at
       FROM customers WHERE organization = ? ORDER BY id`,
      id,
    )
    expect(rows).toEqual(customers.toSorted((a, b) => (a.id < b.id ? -1 : 1)))
  }
})

test('the files are for their user alone', async () => {
  const { folder, config, mirror } = aWorkplace(organizationsOf(await aSandbox({ customers: [3] })))
  rmSync(join(folder, 'data'), { recursive: true })
  await runCli(['sync', '--config', config], { cwd: folder })

  expect(statSync(mirror).mode & 0o777).toBe(0o600)
  expect(statSync(join(folder, 'data')).mode & 0o777).toBe(0o700)
})

test('--json prints one document, failures included', async () => {
  const { folder } = aWorkplace(organizationsOf(await aSandbox({ customers: [120, 7], forbidden: ['globex'] })))
  const { stdout } = await runCli(['sync', '--json'], { cwd: folder })
  const [acme, globex] = syncRuns(stdout)

  expect(acme).toMatchObject({ organization: 'acme', status: 'complete', received: 120, inserted: 120, pages: 2 })
  expect(acme).toMatchObject({ proof: 'unproven', reasons: ['plain-scan'], error: null })
  expect(globex).toMatchObject({ organization: 'globex', status: 'failed', received: 0, error: { code: 'forbidden' } })
})

test('a second sync finds nothing to write', async () => {
  const { folder, mirror } = aWorkplace(organizationsOf(await aSandbox({ customers: [120] })))
  await runCli(['sync'], { cwd: folder })
  const before = rowsOf(mirror, 'SELECT * FROM customers')
  const run = onlyRun((await runCli(['sync', '--json'], { cwd: folder })).stdout)

  expect(run).toMatchObject({ received: 120, inserted: 0, updated: 0, unchanged: 120 })
  expect(rowsOf(mirror, 'SELECT * FROM customers')).toEqual(before)
  expect(valueOf(mirror, 'SELECT COUNT(*) FROM changes')).toBe(0)
})

test('named organizations are mirrored in that order, once each, and no others', async () => {
  const { folder, mirror } = aWorkplace(organizationsOf(await aSandbox({ customers: [3, 4, 5] })))
  const { stdout } = await runCli(['sync', '--json', 'initech', 'acme', 'initech'], { cwd: folder })

  expect(syncRuns(stdout).map(({ organization }) => organization)).toEqual(['initech', 'acme'])
  expect(valueOf(mirror, 'SELECT COUNT(*) FROM runs')).toBe(2)
})

test('--dry-run reports what would change, and creates no file', async () => {
  const { folder, config } = aWorkplace(organizationsOf(await aSandbox({ customers: [120] })))
  rmSync(join(folder, 'data'), { recursive: true })
  const { code, stdout } = await runCommand(syncCommand, ['--dry-run', '--config', config])

  expect(code).toBe(0)
  expect(stdout).toMatch(/^acme +complete +120 +120 /m)
  expect(stdout).toContain('Dry run: nothing was written.')
  expect(existsSync(join(folder, 'data'))).toBe(false)
})

test('--dry-run does not change one byte of an existing mirror', async () => {
  const server = await aFaultServer(list(3), list(5))
  const { config, mirror } = aWorkplace([organizationAt(server)])
  await runCommand(syncCommand, ['--config', config])
  const before = hashOf(mirror)
  const { stdout } = await runCommand(syncCommand, ['--dry-run', '--json', '--config', config])

  expect(onlyRun(stdout)).toMatchObject({ received: 5, inserted: 2, unchanged: 3 })
  expect(hashOf(mirror)).toBe(before)
  expect(readdirSync(join(mirror, '..'))).toEqual(['customers.db'])
})

test('--limit-pages stops after that many pages, keeps them, and does not count as a complete reading', async () => {
  const { config, mirror } = aWorkplace(organizationsOf(await aSandbox({ customers: [450] })))
  const { code, stdout } = await runCommand(syncCommand, ['--limit-pages', '2', '--json', '--config', config])

  expect(code).toBe(0)
  expect(onlyRun(stdout)).toMatchObject({ pages: 2, requests: 2, received: 200, reasons: ['page-limit'] })
  expect(valueOf(mirror, 'SELECT COUNT(*) FROM customers')).toBe(200)
  expect(valueOf(mirror, 'SELECT read_as_of FROM freshness')).toBeNull()
})

test('a run waits for a service that asks to slow down; the wait is counted, and cron stays silent', async () => {
  const server = await aFaultServer(refusal(429, 'rate_limited', 'Slow down.', { 'Retry-After': '1' }), list(3))
  const { config } = aWorkplace([organizationAt(server)])
  const { code, stdout, stderr } = await runCommand(syncCommand, ['--json', '--config', config])

  expect(code).toBe(0)
  const { throttled, waitedMs, requests } = onlyRun(stdout)
  expect({ throttled, requests, waited: waitedMs > 0 }).toEqual({ throttled: 1, requests: 2, waited: true })
  expect(stderr).toBe('')
})

test('the configuration is found by name, by the environment, and by --config, which wins', async () => {
  const sandbox = await aSandbox({ customers: [1, 2] })
  const [acme, globex] = organizationsOf(sandbox)
  if (acme === undefined || globex === undefined) throw new Error('two organizations were asked for')
  const [near, named] = [aWorkplace([acme]), aWorkplace([globex])]
  const mirrored = async (args: string[], env: Record<string, string>) =>
    onlyRun((await runCli(['sync', '--json', ...args], { cwd: near.folder, env })).stdout).organization

  expect(await mirrored([], {})).toBe('acme')
  expect(await mirrored([], { CUSTOMER_MIRROR_CONFIG: named.config })).toBe('globex')
  expect(await mirrored(['--config', near.config], { CUSTOMER_MIRROR_CONFIG: named.config })).toBe('acme')
})

function hashOf(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex')
}
