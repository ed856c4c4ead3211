import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { aMirror } from '../support/mirror-file.ts'
import { runInShell } from '../support/run-cli.ts'

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
