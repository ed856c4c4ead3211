import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { aShellOnTerminal } from '../support/shell-on-terminal.ts'
import { has, aPlaceFor } from '../support/completing-shell.ts'

describe('in a shell', () => {
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
})
