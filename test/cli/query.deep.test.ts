import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { ENDLESS } from '../support/full-mirror.ts'
import { aMirror, aMirrorOfFive, temporaryFolder } from '../support/mirror-file.ts'
import { LAUNCHER, runCli, runInShell } from '../support/run-cli.ts'

test('rows take no more memory the more there are', async () => {
  const { file } = await aMirror()
  const rows = `WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 100000) SELECT x, hex(zeroblob(200)) AS y FROM c`
  for (const format of ['--json', '']) {
    const { code, stdout, stderr } = runInShell(
      `export NODE_OPTIONS=--max-old-space-size=32; set -o pipefail; customer-mirror sql --mirror '${file}' ${format} '${rows}' | wc -c`,
      { cwd: dirname(file) },
    )
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(Number(stdout)).toBeGreaterThan(40_000_000)
  }
})

let file: string

beforeEach(async () => {
  file = await aMirrorOfFive()
})

test('a statement may begin with a comment, also without a space, wherever the options stand', async () => {
  const statement = '--who\nSELECT name FROM customers ORDER BY row_id LIMIT 1'
  const sql = (...args: string[]) => runCli(['sql', ...args], { cwd: temporaryFolder() })
  const named = ['--mirror', file, '--csv']
  const found = { code: 0, stdout: 'name\r\nCustomer 1\r\n', stderr: '' }

  for (const args of [
    [statement, ...named],
    [...named, statement],
    [...named, '--', statement],
  ])
    expect(await sql(...args)).toMatchObject(found)
  expect(await sql('--cvs', statement)).toMatchObject({ code: 2, stderr: expect.stringContaining("option '--cvs'") })
})

test('a statement ends when the command that would end it is killed', async () => {
  // Two rows, each of which is too long to be kept back, and then none.
  const rowsThenNone = ENDLESS.replace('COUNT(*)', `printf('%070000d', x)`).concat(' WHERE x < 3')
  const child = spawn(process.execPath, [LAUNCHER, 'sql', '--csv', '--timeout=1h', '--mirror', file, rowsThenNone])
  const ended = once(child, 'close')
  let received = 0
  for await (const chunk of child.stdout) {
    received += Buffer.from(chunk).length
    if (received > 140_000) child.kill('SIGKILL')
  }

  // Standard output has an end once the process that runs the statement has ended too.
  expect(await ended).toEqual([null, 'SIGKILL'])
})
