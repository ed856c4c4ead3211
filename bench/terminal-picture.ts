import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Output } from './report.ts'

const PICTURE = fileURLToPath(new URL('../docs/images/terminal.svg', import.meta.url))
const LAUNCHER = fileURLToPath(new URL('../src/cli/customer-mirror.mjs', import.meta.url))

/** The commands of the session, after the sandbox was started beside it. */
const COMMANDS = [
  ['sync'],
  ['status'],
  ['sql', 'SELECT organization, COUNT(*) AS customers FROM active_customers GROUP BY organization'],
]

/** Draws the picture of a terminal in the README from a real session with a sandbox. Returns the exit code. */
export async function runPicture(args: readonly string[], { stdout }: Output): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'customer-mirror-picture-'))
  const sandbox = spawn(
    process.execPath,
    [LAUNCHER, 'sandbox', '--port', '0', '--write-config', 'customer-mirror.yaml'],
    {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  )
  try {
    await once(sandbox.stdout, 'data')
    const run = async (words: readonly string[]) => {
      const done = await promisify(execFile)(process.execPath, [LAUNCHER, ...words], { cwd: folder })
      return done.stdout.replaceAll(folder, '~/trial')
    }
    const [file = PICTURE] = args
    await writeFile(file, pictureOf(await sessionOf(run)))
    stdout.write(`${file} was written.\n`)
    return 0
  } finally {
    sandbox.kill()
    await rm(folder, { recursive: true, force: true })
  }
}

/** The lines of the session: each command after its prompt, and below it what it prints. */
export async function sessionOf(run: (words: readonly string[]) => Promise<string>): Promise<string[]> {
  const lines = []
  for (const words of COMMANDS) {
    const shown = words.map((word) => (word.includes(' ') ? `"${word}"` : word)).join(' ')
    lines.push(`$ customer-mirror ${shown}`, ...(await run(words)).trimEnd().split('\n'), '')
  }
  return lines.slice(0, -1)
}

const WIDTH = 8
const HEIGHT = 20
const MARGIN = 20

/** An SVG that is light or dark as its reader's browser is. Each line has its width, whatever the font. */
function pictureOf(lines: readonly string[]): string {
  const width = Math.max(...lines.map((line) => line.length)) * WIDTH + 2 * MARGIN
  const height = lines.length * HEIGHT + 2 * MARGIN
  const texts = lines.flatMap((line, row) => {
    if (line === '') return []
    const place = `x="${MARGIN}" y="${MARGIN + row * HEIGHT + 14}" textLength="${line.length * WIDTH}"`
    const kind = line.startsWith('$ ') ? ' class="command"' : ''
    return [`  <text ${place}${kind}>${line.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</text>`]
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img"
  aria-label="A terminal: sync mirrors three organizations, status shows how current they are, and sql counts their customers">
  <style>
    rect { fill: #f6f8fa }
    text { fill: #1f2328; font: 13px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; white-space: pre }
    .command { fill: #0550ae; font-weight: bold }
    @media (prefers-color-scheme: dark) {
      rect { fill: #161b22 }
      text { fill: #e6edf3 }
      .command { fill: #79c0ff }
    }
  </style>
  <rect width="${width}" height="${height}" rx="8" />
${texts.join('\n')}
</svg>
`
}
