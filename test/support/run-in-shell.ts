import { spawnSync } from 'node:child_process'
import { LAUNCHER } from './launcher.ts'

/** A command line with `customer-mirror` in it, run by bash in a folder to its end, with a text on its standard input. */
export function runInShell(command: string, { cwd, input = '' }: { cwd: string; input?: string }) {
  const line = command.replace('customer-mirror', `'${process.execPath}' '${LAUNCHER}'`)
  const { status, stdout, stderr } = spawnSync('/bin/bash', ['--norc', '-c', line], {
    input,
    encoding: 'utf8',
    maxBuffer: 1e9,
    cwd,
    env: { PATH: '/usr/bin:/bin' },
  })
  return { code: status, stdout, stderr }
}
