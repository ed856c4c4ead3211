import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { statusCommand } from '../../src/cli/status.ts'
import { aMirroredWorkplace } from '../support/commands.ts'
import { runCli } from '../support/run-cli.ts'
import { runCommand } from '../support/run-command.ts'

test('status --html writes one private file, which replaces the page before', async () => {
  const { folder, config, organizations } = await aMirroredWorkplace([12, 7])
  const file = join(folder, 'status.html')

  for (let time = 0; time < 2; time += 1) {
    expect(await page(config, file)).toEqual({ code: 0, stdout: '', stderr: '' })
    chmodSync(file, time === 0 ? 0o644 : 0o600)
  }

  const written = readFileSync(file, 'utf8')
  expect(written).toMatch(/^<!doctype html>/)
  expect(written).toMatch(/<meta\s+http-equiv="Content-Security-Policy"\s+content="default-src &#39;none&#39;/)
  for (const { id } of organizations) expect(written).toContain(`<h3>${id}</h3>`)
  expect(written).toContain('None of 2 organizations needs attention.')
  expect(written).not.toMatch(/<a href="\//)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(readdirSync(folder).filter((name) => name.includes('unfinished'))).toEqual([])
})

test('status --html - prints the page', async () => {
  const { config } = await aMirroredWorkplace()

  expect(await page(config, '-')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^<!doctype html>/) })
})

test('with --max-age, the page is written and the exit code is that of status', async () => {
  const { folder, config, organizations } = await aMirroredWorkplace([3, 3])
  const unread = organizations.map((each) => ({ ...each, id: `${each.id}-too` }))
  writeFileSync(config, JSON.stringify({ mirror: join(folder, 'data/customers.db'), organizations: unread }))

  const { code } = await page(config, join(folder, 'status.html'), '--max-age', '26h')

  expect({ code, text: readFileSync(join(folder, 'status.html'), 'utf8') }).toMatchObject({
    code: 3,
    text: expect.stringContaining('Never mirrored'),
  })
})

test.each([
  ['a folder', (folder: string) => folder, 2, /is a folder; name a file in it, e\.g\. .*status\.html/],
  [
    'a file in no folder',
    (folder: string) => join(folder, 'no/status.html'),
    2,
    /no such file or directory \(stat, ENOENT\)/,
  ],
  ['the mirror', (_: string, mirror: string) => mirror, 2, /is the mirror itself/],
  ['the configuration', (_f: string, _m: string, config: string) => config, 2, /was not made by this command/],
  ['a link', (folder: string) => join(folder, 'link.html'), 2, /is a symbolic link/],
  ['no name', () => '', 2, /The name of the file is empty/],
  ['a place of the system', () => '/proc/status.html', 2, /^\/proc\/status\.html: (no such file|permission denied)/],
  ['a name that is too long', (folder: string) => join(folder, 'x'.repeat(250)), 2, /has a name that is too long/],
])('status --html refuses %s and leaves it as it was', async (_what, targetIn, code, says) => {
  const { folder, config, mirror } = await aMirroredWorkplace()
  mkdirSync(join(folder, 'sub'))
  symlinkSync(config, join(folder, 'link.html'))
  const before = readFileSync(config, 'utf8')

  const done = await page(config, targetIn(folder, mirror, config))

  expect(done).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(says) })
  expect(readFileSync(config, 'utf8')).toBe(before)
  expect(await runCommand(statusCommand, ['--config', config])).toMatchObject({ code: 0 })
})

test('one form at a time', async () => {
  const { config } = await aMirroredWorkplace()

  expect(
    await runCli(['status', '--config', config, '--html', 'status.html', '--json'], { cwd: dirname(config) }),
  ).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("option '--json' cannot be used with option '--html <file>'"),
  })
})

function page(config: string, file: string, ...more: string[]) {
  return runCommand(statusCommand, ['--config', config, '--html', file, ...more])
}
