import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { scalePage } from '../../bench/scale/page.ts'
import { keptFigures, writeScale } from '../../bench/scale/write-scale.ts'

test('the page on a thousand organizations holds what was measured last', async () => {
  const page = await readFile(new URL('../../docs/explain/scale.md', import.meta.url), 'utf8')

  // `npm run bench -- --scale` writes it again.
  expect(page).toBe(scalePage(await keptFigures()))
  expect(page).not.toMatch(/NaN|undefined|Infinity/)
})

test('it cannot be measured with no customers', async () => {
  let said = ''
  const output = { stdout: { write: () => true }, stderr: { write: (text: string) => (said += text) } }

  expect(await writeScale(['--size', '0'], output)).toBe(2)
  expect(said).toContain('--size')
})
