import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { rowsOf, valueOf } from '../support/mirror-file.ts'
import { runCli } from '../support/run-cli.ts'
import { temporaryFolder } from '../support/temp-folder.ts'

const README = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
const RUNS = 'SELECT organization, status, inserted, updated, unchanged FROM runs ORDER BY id > 3, organization'

test('the demo mirrors three organizations, waits for the rate limit, and writes no customer twice', async () => {
  const cwd = temporaryFolder()
  const { code, stdout } = await runCli(['demo'], { cwd })
  const folder = join(cwd, 'data', 'demo')
  const mirror = join(folder, 'customers.db')

  expect(code).toBe(0)
  expect(valueOf(mirror, 'SELECT SUM(throttled) FROM runs')).toBeGreaterThan(0)
  expect(rowsOf(mirror, RUNS)).toEqual([
    { organization: 'acme', status: 'complete', inserted: 2500, updated: 0, unchanged: 0 },
    { organization: 'globex', status: 'complete', inserted: 1050, updated: 0, unchanged: 0 },
    { organization: 'initech', status: 'complete', inserted: 40, updated: 0, unchanged: 0 },
    { organization: 'acme', status: 'complete', inserted: 0, updated: 0, unchanged: 2500 },
    { organization: 'globex', status: 'complete', inserted: 0, updated: 0, unchanged: 1050 },
    { organization: 'initech', status: 'complete', inserted: 0, updated: 0, unchanged: 40 },
  ])
  expect(valueOf(mirror, 'SELECT COUNT(*) FROM changes')).toBe(0)
  expect(valueOf(mirror, 'SELECT COUNT(*) FROM customers WHERE last_run_id > 3')).toBe(0)
  expect(statSync(mirror).mode & 0o777).toBe(0o600)
  expect([folder, join(cwd, 'data')].map((place) => statSync(place).mode & 0o777)).toEqual([0o700, 0o700])

  const next = stdout.slice(stdout.indexOf('Try next:\n')).trimEnd().split('\n').slice(1)
  expect(stdout).toContain('Mirror: data/demo/customers.db\n')
  expect(next).toHaveLength(3)
  const [, sql = ''] = /^ {2}npm start -- sql --mirror data\/demo\/customers\.db "(.*)"$/.exec(next[0] ?? '') ?? []
  expect(rowsOf(mirror, sql).length).toBeGreaterThan(3)
  const [, first = ''] = /sql --mirror data\/demo\/customers\.db "([^"]*)"/.exec(README) ?? []
  const shown = await runCli(['sql', '--mirror', 'data/demo/customers.db', first], { cwd })
  expect(README).toContain(`\n${shown.stdout.replaceAll(/ +$/gm, '')}\`\`\`\n`)
  const [, status = ''] = /^ {2}npm start -- (status .*)$/.exec(next[1] ?? '') ?? []
  expect((await runCli(status.split(' '), { cwd })).stdout).toMatch(/^initech .* 40 /m)
})

test('a demo that is stopped says so, and its files are sound', async () => {
  const cwd = temporaryFolder()
  const stop = new AbortController()
  const onStderr = (text: string) => {
    if (text.includes('Second run')) stop.abort()
  }
  const { stdout } = await runCli(['demo'], { cwd, onStderr, signal: stop.signal })
  const mirror = join(cwd, 'data', 'demo', 'customers.db')

  expect(stdout).toMatch(/^globex +interrupted/m)
  expect(valueOf(mirror, 'PRAGMA integrity_check')).toBe('ok')
  expect(statSync(mirror).mode & 0o777).toBe(0o600)
})
