import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openMirror } from '../../src/mirror/mirror.ts'
import { customers } from '../support/builders.ts'
import { mirrorPages } from '../support/mirror-file.ts'
import { runCli } from '../support/run-cli.ts'
import { aShellOnTerminal } from '../support/shell-on-terminal.ts'
import { temporaryFolder } from '../support/temp-folder.ts'
import { ORGANIZATIONS, writeConfigurations, aPlaceFor } from '../support/completing-shell.ts'

describe('the words that may stand at the cursor', () => {
  test.each([
    ['organizations', ['sync', 'ac'], ['acme', 'acme-two', 'globex']],
    ['organizations that are not there yet', ['check', 'acme', ''], ['acme-two', 'globex']],
    ['organizations of an inner command', ['signing', 'explain', ''], ['acme', 'acme-two', 'globex']],
    ['organizations of the configuration that is named', ['sync', '--config', 'other.yaml', ''], ['initech']],
    ['the same as bash splits it', ['sync', '--config', '=', 'other.yaml', ''], ['initech']],
    ['the same in one word', ['sync', '--config=other.yaml', ''], ['initech']],
    ['no second organization where there is one', ['runs', 'acme', ''], []],
    ['organizations behind the sign', ['query', '--org=g'], ['--org=acme', '--org=acme-two', '--org=globex']],
    ['files', ['sync', '--config', ''], [':files']],
    ['files behind the sign', ['sync', '-c', 'other.yaml', '--config=o'], [':files']],
    ['files as an argument', ['init', ''], [':files']],
    ['choices', ['sync', '--log-level', ''], ['debug', 'info', 'warn', 'error']],
    ['choices as an argument', ['completion', ''], ['bash', 'zsh', 'fish']],
    ['inner commands', ['removals', ''], ['list', 'approve', 'discard', 'help']],
    ['options but those given', ['schema', '--'], ['--help']],
    ['no options after their end', ['sync', '--', '--'], ['acme', 'acme-two', 'globex']],
    ['nothing behind a command that is none', ['nosuch', ''], []],
  ])('%s', async (_, line, expected) => {
    expect(await suggested(line)).toEqual(expected)
  })

  test.each([
    ['of the mirror, to be renamed', ['organizations', 'rename', ''], ['acme', 'initech']],
    ['no second one behind it', ['organizations', 'rename', 'acme', ''], []],
    ['that left the configuration, to be retired', ['organizations', 'retire', 'in'], ['initech']],
    ['that left the configuration, to be forgotten', ['organizations', 'forget', ''], ['initech']],
  ])('are organizations %s', async (_, line, expected) => {
    const cwd = temporaryFolder()
    writeFileSync(join(cwd, 'customer-mirror.yaml'), `mirror: here.db\n${ORGANIZATIONS}`)
    const mirror = await openMirror(join(cwd, 'here.db'))
    for (const organization of ['acme', 'initech', 'not\u001ban id'])
      await mirrorPages(mirror, [customers(1, 2)], { organization })
    await mirror.close()

    expect(await suggested(line, cwd)).toEqual(expected)
  })

  test('are every command that help lists, and no other', async () => {
    const cwd = temporaryFolder()
    const { stdout } = await runCli(['--help'], { cwd })
    const [, listed = ''] = /\nCommands:\n(.*?)\n\n/s.exec(stdout) ?? []
    const names = [...listed.matchAll(/^ {2}([a-z]+)/gm)].map(([, name]) => name)

    expect(names).toContain('completion')
    expect(await suggested([''])).toEqual(names)
    expect(await suggested(['help', ''])).toEqual(names)
  })

  test('come with what help says of them', async () => {
    const { stdout } = await runCli(['complete', '--', 'sync', '--dry'], { cwd: temporaryFolder() })

    expect(stdout).toMatch(/^--dry-run\t\w+ .+$/m)
  })
})

test.each([
  ['is not there', (_file: string) => {}],
  ['is a folder', (file: string) => mkdirSync(file)],
  ['is a pipe without a writer', (file: string) => spawnSync('mkfifo', [file])],
  ['is not YAML', (file: string) => writeFileSync(file, 'organizations: [acme\n\t- }')],
  ['is empty', (file: string) => writeFileSync(file, '')],
  ['has other things for organizations', (file: string) => writeFileSync(file, 'organizations: [1, { id: [] }, null]')],
  ['has ids that would do something to a terminal', (file: string) => writeFileSync(file, UNPRINTABLE)],
])('a configuration that %s gives no organization and no error', async (_, make) => {
  const cwd = temporaryFolder()
  make(join(cwd, 'customer-mirror.yaml'))

  expect(await runCli(['complete', '--', 'sync', ''], { cwd })).toMatchObject({ code: 0, stdout: '', stderr: '' })
})

const UNPRINTABLE = String.raw`organizations: [{ id: "a\e[2Jb" }, { id: "a\nb" }, { id: "$(id)" }, { id: ":files" }]`

describe('in a shell', () => {
  test('bash completes commands, options, organizations and files', async () => {
    const { cwd, env } = await aPlaceFor('bash')
    writeFileSync(join(cwd, 'rc'), `PS1='ready> '\nbind 'set enable-bracketed-paste off'\nsource completion\n`)
    const bash = await aShellOnTerminal('bash --noprofile --rcfile rc -i', { cwd, env, prompt: /ready> / })

    await bash.type('customer-mirror --vers\t', /customer-mirror --version /)
    await bash.type('\r', /\d+\.\d+\.\d+\s+ready> /)
    await bash.type('customer-mirror check --config other.y\t', /check --config other\.yaml /)
    await bash.type('in\t', /initech /)
    await bash.type('\u0015customer-mirror sync --log-level=de\t', /--log-level=debug /)
    await bash.type('gl\t', /globex /)
    await bash.type('\u0015customer-mirror check --config my\\ own.yaml um\t', /umbrella /)
    await bash.type('\u0015customer-mirror check --config "my own.yaml" um\t', /umbrella /)
    await bash.type('\u0015customer-mirror sync gl\t', /globex /)
    await bash.type('acme-\t', /acme-two /)
    await bash.type('--help\r', /Usage: customer-mirror sync/)
  })

  test('only the shells that are known', async () => {
    expect(await runCli(['completion', 'tcsh'], { cwd: temporaryFolder() })).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('Allowed choices are bash, zsh, fish.'),
    })
  })
})

async function suggested(line: readonly string[], cwd = aFolder()): Promise<string[]> {
  const { code, stdout, stderr } = await runCli(['complete', '--', ...line], { cwd })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout.split('\n').flatMap((text) => text.split('\t')[0] || [])
}

function aFolder(): string {
  const folder = temporaryFolder()
  writeConfigurations(folder)
  return folder
}
