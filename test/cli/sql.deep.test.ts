import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openMirror } from '../../src/mirror/mirror.ts'
import { customers } from '../support/builders.ts'
import { mirrorPages } from '../support/mirror-file.ts'
import { runInShell } from '../support/run-in-shell.ts'

let file: string

/** The program as a shell starts it, with a text on its standard input. */
const shell = (command: string, input?: string) =>
  runInShell(command, { cwd: dirname(file), ...(input !== undefined && { input }) })

beforeAll(async () => {
  file = join(mkdtempSync(join(tmpdir(), 'customer-mirror-')), 'customers.db')
  const mirror = await openMirror(file)
  await mirrorPages(mirror, [customers(1, 5)])
  await mirror.close()
})

afterAll(() => rmSync(dirname(file), { recursive: true }))

test('rows take no more memory the more there are', () => {
  const rows = `WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 100000) SELECT x, hex(zeroblob(200)) AS y FROM c`
  for (const format of ['--csv', '--json', '--jsonl', '']) {
    const { code, stdout, stderr } = shell(
      `export NODE_OPTIONS=--max-old-space-size=32; set -o pipefail; customer-mirror sql --mirror customers.db ${format} '${rows}' | wc -c`,
    )
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(Number(stdout)).toBeGreaterThan(40_000_000)
  }
})
