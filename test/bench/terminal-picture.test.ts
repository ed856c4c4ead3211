import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { sessionOf } from '../../bench/terminal-picture.ts'
import { runCli } from '../support/run-cli.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'

test('the picture of a terminal shows what the commands print now, but for numbers: npm run picture draws it anew', async () => {
  const { folder } = aWorkplace(organizationsOf(await aSandbox({ customers: 110 })), {
    defaults: { scan: 'chain' },
  })
  const lines = await sessionOf(async (words) => {
    const { code, stdout, stderr } = await runCli([...words], { cwd: folder })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    return stdout.replaceAll(folder, '~/trial')
  })
  const picture = readFileSync(new URL('../../docs/images/terminal.svg', import.meta.url), 'utf8')
  const drawn = [...picture.matchAll(/<text [^>]*>(.*)<\/text>/g)].map(([, line = '']) => line)

  expect(drawn.map(withoutNumbers)).toEqual(lines.filter((line) => line !== '').map(withoutNumbers))
  expect(picture).toContain('prefers-color-scheme: dark')
})

/** A line without what differs from run to run: numbers, their units, and the widths of columns. */
function withoutNumbers(line: string): string {
  return line
    .replaceAll(/\d[\d,.]*( ms| s)?/g, '0')
    .replaceAll(/ +/g, ' ')
    .trim()
}
