import { readFileSync } from 'node:fs'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { loadCommands } from '../src/cli/program.ts'
import { DOCUMENTED_COMMANDS, requireDocumented } from './support/json-page.ts'
import type { Io } from '../src/cli/io.ts'

const IO: Io = {
  signal: new AbortController().signal,
  stdout: new PassThrough(),
  stderr: new PassThrough(),
  exitWith: () => {},
}

/** What each command prints is compared with the page wherever a test runs one: `requireDocumented`. */
test('docs/reference/json.md describes each command that has --json, and no other', async () => {
  const commands = await loadCommands(undefined, IO)
  const withJson = commands.flatMap((command) => {
    return [command, ...command.commands].flatMap((each) =>
      each.options.some(({ long }) => long === '--json')
        ? [each === command ? each.name() : `${command.name()} ${each.name()}`]
        : [],
    )
  })

  expect(DOCUMENTED_COMMANDS.toSorted()).toEqual(withJson.toSorted())
})

test('a key that the page does not name, or a value of another kind, is found', () => {
  const removal = { run: 3, organization: 'acme', held: 50, at: '2026-01-05T02:01:00.000Z' }
  const printed = (removals: unknown) => `${JSON.stringify({ schemaVersion: 1, removals })}\n`

  expect(() => requireDocumented(['removals', 'list', '--json'], printed([removal]))).not.toThrow()
  expect(() => requireDocumented(['removals', 'list', '--json'], printed([{ ...removal, why: 'x' }]))).toThrow(/why/)
  expect(() => requireDocumented(['removals', 'list', '--json'], printed([{ ...removal, held: null }]))).toThrow(/held/)
})

test('each key of the page has a meaning, and each heading that a value names is there', () => {
  const page = readFileSync(new URL('../docs/reference/json.md', import.meta.url), 'utf8')
  const rows = page.split('\n').filter((line) => line.startsWith('- '))
  const headings = new Set([...page.matchAll(/^##+ (.+)$/gm)].map(([, heading = '']) => heading))
  const named = [...page.matchAll(/\[([^\]]+)\]\(#[\w-]+\)/g)].map(([, name = '']) => name)

  expect(rows.filter((row) => !/^- `\w+` \(.+?\): \S/.test(row))).toEqual([])
  expect(named.filter((name) => !headings.has(name))).toEqual([])
})
