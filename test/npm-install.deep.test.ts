import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { temporaryFolder } from './support/temp-folder.ts'

const ROOT = fileURLToPath(new URL('../', import.meta.url))

test('npm ci prints no engine warning for every package', () => {
  expect(install({ engines: { node: '>=99' } }, { npmrc: false }).said).toContain('EBADENGINE')

  expect(install({ engines: { node: '>=99' } })).toEqual({ code: 0, said: '' })
})

test('npm ci still reports installation errors', () => {
  const { code, said } = install({ dependencies: { 'no-such-package-in-the-lock': '1.0.0' } })

  expect(code).not.toBe(0)
  expect(said).toMatch(/npm error .*no-such-package-in-the-lock/)
})

/** What `npm ci` says of the project with `changes` to its package.json. Nothing is downloaded or installed. */
function install(changes: object, { npmrc = true } = {}): { code: number | null; said: string } {
  const folder = temporaryFolder()
  const packageJson: object = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...packageJson, ...changes }))
  copyFileSync(join(ROOT, 'package-lock.json'), join(folder, 'package-lock.json'))
  if (npmrc && existsSync(join(ROOT, '.npmrc'))) copyFileSync(join(ROOT, '.npmrc'), join(folder, '.npmrc'))
  const { status, stderr } = spawnSync('npm', ['ci', '--dry-run', '--offline', '--no-audit', '--no-fund'], {
    cwd: folder,
    encoding: 'utf8',
    // The npm settings of this test run, and those of the user, must not apply to that process.
    env: { PATH: process.env['PATH'], HOME: folder, npm_config_userconfig: join(folder, 'none') },
  })
  return { code: status, said: stderr }
}
