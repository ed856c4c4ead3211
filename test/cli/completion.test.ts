import { spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openMirror } from '../../src/mirror/mirror.ts'
import { customers } from '../support/builders.ts'
import { mirrorPages } from '../support/mirror-file.ts'
import { runCli } from '../support/run-cli.ts'
import { aShellOnTerminal } from '../support/shell-on-terminal.ts'
import { temporaryFolder } from '../support/temp-folder.ts'
import { LAUNCHER } from '../support/launcher.ts'

const ORGANIZATIONS = 'organizations:\n  - id: acme\n  - id: acme-two\n  - id: globex\n'

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

  test.runIf(has('fish'))('fish completes commands, options, organizations and files', async () => {
    const { cwd, env } = await aPlaceFor('fish')
    const wordsFor = (line: string) =>
      spawnSync('fish', ['--no-config', '--command', `source completion; complete --do-complete '${line}'`], {
        cwd,
        env,
        encoding: 'utf8',
      })
        .stdout.split('\n')
        .flatMap((text) => text.split('\t')[0] || [])

    expect(wordsFor('customer-mirror --vers')).toEqual(['--version'])
    expect(wordsFor('customer-mirror sync ac')).toEqual(['acme', 'acme-two'])
    expect(wordsFor('customer-mirror query --org=gl')).toEqual(['--org=globex'])
    expect(wordsFor('customer-mirror sync --config=oth')).toEqual(['--config=other.yaml'])
    expect(wordsFor('customer-mirror sync --config other.yaml ')).toEqual(['initech'])
  })

  test.runIf(has('zsh'))('zsh completes commands, options, organizations and files', async () => {
    const { cwd, env } = await aPlaceFor('zsh')
    const settings = "PS1='ready> '\nunsetopt zle_bracketed_paste prompt_sp\n"
    writeFileSync(join(cwd, '.zshrc'), `${settings}autoload -Uz compinit\ncompinit -u -D\nsource completion\n`)
    const zsh = await aShellOnTerminal('zsh -i', { cwd, env: { ...env, ZDOTDIR: cwd }, prompt: /ready> / })

    await zsh.type('customer-mirror --vers\t', /--version/)
    await zsh.type('\r', /\d+\.\d+\.\d+\s/)
    await zsh.type('customer-mirror check acme-\t', /acme-two/)
    await zsh.type('--help\r', /Usage: customer-mirror check/)
    await zsh.type('customer-mirror check --config=oth\t', /--config=other\.yaml/)
    await zsh.type('--help\r', /Usage: customer-mirror check/)
  })

  test('only the shells that are known', async () => {
    expect(await runCli(['completion', 'tcsh'], { cwd: temporaryFolder() })).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('Allowed choices are bash, zsh, fish.'),
    })
  })
})

function has(shell: string): boolean {
  return spawnSync(shell, ['--version']).status === 0
}

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

function writeConfigurations(folder: string): void {
  writeFileSync(join(folder, 'customer-mirror.yaml'), ORGANIZATIONS)
  writeFileSync(join(folder, 'other.yaml'), 'organizations: [{ id: initech }]\n')
  writeFileSync(join(folder, 'my own.yaml'), 'organizations: [{ id: umbrella }]\n')
}

/** A folder with configurations and the script of the shell, and a PATH on which the program is found by its name. */
async function aPlaceFor(shell: string): Promise<{ cwd: string; env: Record<string, string> }> {
  const cwd = temporaryFolder()
  const programs = join(cwd, 'bin')
  mkdirSync(programs)
  symlinkSync(LAUNCHER, join(programs, 'customer-mirror'))
  writeConfigurations(cwd)
  const { stdout } = await runCli(['completion', shell], { cwd })
  writeFileSync(join(cwd, 'completion'), stdout)
  return { cwd, env: { PATH: `${programs}:${dirname(process.execPath)}:${process.env['PATH']}`, HOME: cwd } }
}
