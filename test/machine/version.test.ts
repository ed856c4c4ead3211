import { spawnSync } from 'node:child_process'
import fs, { mkdirSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { dirname, join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { commit, commitOf, exactVersion, version } from '../../src/machine/version.ts'
import { npm, aCheckout } from '../support/package-checkout.ts'
import { temporaryFolder } from '../support/temp-folder.ts'

test('version and commit are read once, so that no later run needs a file for them', () => {
  const before = exactVersion()
  expect(before).toMatch(/^\d+\.\d+\.\d+(\+[0-9a-f]{12})?$/)
  const reading = vi.spyOn(fs, 'readFileSync').mockImplementation(() => {
    throw new Error('EMFILE: too many open files')
  })
  syncBuiltinESMExports()
  try {
    expect(exactVersion()).toBe(before)
    expect(before.split('+')).toEqual([version(), commit() ?? []].flat())
  } finally {
    reading.mockRestore()
    syncBuiltinESMExports()
  }
})

describe.runIf(spawnSync('git', ['--version']).status === 0)('the commit of a checkout is known', () => {
  test.each([
    ['on a branch', []],
    [
      'on a branch in another folder',
      ['switch --quiet --create topic/one', 'commit --quiet --allow-empty --message two'],
    ],
    ['whose branches are packed', ['pack-refs --all']],
    ['where no branch is checked out', ['checkout --quiet --detach']],
  ])('%s', (_, commands) => {
    const folder = aRepository()
    for (const command of commands) git(folder, command)

    expect(commitOf(folder)).toBe(git(folder, 'rev-parse HEAD').slice(0, 12))
  })

  test.each([[], ['pack-refs --all']])('in a worktree of its own: %s', (...commands) => {
    const folder = aRepository()
    const worktree = join(temporaryFolder(), 'worktree')
    git(folder, `worktree add --quiet -b other ${worktree}`)
    git(worktree, 'commit --quiet --allow-empty --message two')
    for (const command of commands) git(folder, command)

    expect(commitOf(worktree)).toBe(git(worktree, 'rev-parse HEAD').slice(0, 12))
    expect(commitOf(worktree)).not.toBe(commitOf(folder))
  })

  test('and no commit before the first', () => {
    const folder = temporaryFolder()
    git(folder, 'init --quiet')

    expect(commitOf(folder)).toBeUndefined()
  })
})

test.each([
  ['without a checkout', {}],
  ['in a folder of an empty name', { '.git/HEAD': '' }],
  ['of a branch that is not there', { '.git/HEAD': 'ref: refs/heads/main\n' }],
  ['of what is no commit', { '.git/HEAD': 'not a commit\n', 'dist/commit': `${'a'.repeat(40)}\n` }],
  ['of a build that knew none', { 'dist/commit': '' }],
])('nothing is said %s', (_, files) => {
  const folder = temporaryFolder()
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }

  expect(commitOf(folder)).toBeUndefined()
})

test.each([
  ['its checkout', undefined, 'b'.repeat(12)],
  ['its environment, as in the image', 'a'.repeat(40), 'a'.repeat(12)],
])('a package knows the commit that its build knew from %s', (_, given, expected) => {
  const checkout = aCheckout(join(temporaryFolder(), 'checkout'))
  for (const folder of ['.git', 'dist']) mkdirSync(join(checkout, folder))
  writeFileSync(join(checkout, '.git/HEAD'), `${'b'.repeat(40)}\n`)
  vi.stubEnv('CUSTOMER_MIRROR_COMMIT', given)
  try {
    npm(checkout, 'run', 'build:commit')
  } finally {
    vi.unstubAllEnvs()
  }
  fs.rmSync(join(checkout, '.git'), { recursive: true })

  expect(commitOf(checkout)).toBe(expected)
})

function aRepository(): string {
  const folder = temporaryFolder()
  git(folder, 'init --quiet')
  git(folder, 'commit --quiet --allow-empty --message one')
  return folder
}

function git(cwd: string, command: string): string {
  const who = {
    GIT_AUTHOR_NAME: 'a',
    GIT_AUTHOR_EMAIL: 'a@example.com',
    GIT_COMMITTER_NAME: 'a',
    GIT_COMMITTER_EMAIL: 'a@example.com',
  }
  const env = { ...process.env, ...who, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' }
  const { status, stdout, stderr } = spawnSync('git', command.split(' '), { cwd, env, encoding: 'utf8' })
  if (status !== 0) throw new Error(`git ${command}: ${stderr}`)
  return stdout.trim()
}
