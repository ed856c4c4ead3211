import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { syncRuns } from '../support/json-page.ts'
import { runCli, startCli } from '../support/run-cli.ts'
import { temporaryFolder } from '../support/temp-folder.ts'

test('a sandbox writes a configuration that mirrors it, and stops when asked', async () => {
  const cwd = temporaryFolder()
  const options = ['--port', '0', '--customers', '230,7,0', '--write-config', 'my trial.yaml']
  const sandbox = startCli(['sandbox', ...options], { cwd })
  await sandbox.lineOnStderr(/^ {2}customer-mirror sync --config 'my trial\.yaml'$/)
  const { code, stdout } = await runCli(['sync', '--config', 'my trial.yaml', '--json'], { cwd })
  sandbox.send('SIGINT')
  const ended = await sandbox.ended

  expect(code).toBe(0)
  expect(syncRuns(stdout)).toMatchObject([
    { organization: 'acme', inserted: 230 },
    { organization: 'globex', inserted: 7 },
    { organization: 'initech', inserted: 0 },
  ])
  expect(ended.code).toBe(130)
  expect(ended.stdout).toMatch(/^acme, 230 customers\n {2}base URL {2}http:\/\/127\.0\.0\.1:\d+\/api\/v1\n {2}API key /)
  expect(statSync(join(cwd, 'my trial.yaml')).mode & 0o777).toBe(0o600)
})

test('a sandbox lists its scenarios', async () => {
  const { code, stdout } = await runCli(['sandbox', '--list-scenarios'], { cwd: temporaryFolder() })

  expect(code).toBe(0)
  expect(stdout).toMatch(/^insert-delete +\S/m)
})

test('neither a sandbox nor a demo replaces what is there', async () => {
  const cwd = temporaryFolder()
  mkdirSync(join(cwd, 'made'))
  writeFileSync(join(cwd, 'mine.yaml'), 'mine: true\n')

  for (const [args, said] of [
    [['sandbox', '--port', '0', '--write-config', 'mine.yaml'], /mine\.yaml exists already and was not changed\./],
    [['demo', '--folder', '.'], /^\. is there already and was left as it is\. .*name another folder with --folder\.$/m],
    [['demo', '--folder', 'made'], /remove it \(rm -r made\)/],
    [['demo', '--folder', ''], /^The name of the folder is empty: --folder names a folder\.$/m],
  ] as const)
    expect(await runCli(args, { cwd })).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(said) })
  expect(readFileSync(join(cwd, 'mine.yaml'), 'utf8')).toBe('mine: true\n')
  expect(readdirSync(cwd).toSorted()).toEqual(['made', 'mine.yaml'])
})
