import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { UsageError } from '../../src/errors/errors.ts'
import type { Output } from '../run-bench.ts'
import { withPart } from '../markdown.ts'
import { type Figures, figuresSchema } from './figures.ts'
import { measureScale } from './measure-scale.ts'
import { scalePart } from './page.ts'

const MEASURED = fileURLToPath(new URL('measured.json', import.meta.url))
const PAGE = fileURLToPath(new URL('../../docs/explain/performance.md', import.meta.url))

/** Measures what a thousand organizations are worked out from, if there is a server to measure, and writes its part of the page on performance. Returns the exit code. */
export async function writeScale(args: readonly string[], { stdout, stderr }: Output): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: OPTIONS })
  const customers = Number(values.size ?? 100_000)
  if (!Number.isSafeInteger(customers) || customers < 1) {
    stderr.write('--size must be a whole number from 1 up\n')
    return 2
  }
  const { postgres } = values
  if (postgres !== undefined) {
    const folder = await mkdtemp(join(values.folder ?? tmpdir(), 'customer-mirror-bench-'))
    try {
      const say = (text: string) => void stderr.write(`${text}\n`)
      await keep(await measureScale({ customers, folder, postgres, say }))
    } catch (error) {
      if (!(error instanceof UsageError)) throw error
      stderr.write(`${error.message}\n`)
      return 2
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }
  await writeFile(PAGE, withPart(await readFile(PAGE, 'utf8'), 'scale', scalePart(await keptFigures())))
  stdout.write(`${PAGE} was written${postgres === undefined ? ' from what was measured before' : ''}.\n`)
  return 0
}

async function keep(figures: Figures): Promise<void> {
  await writeFile(MEASURED, `${JSON.stringify(figures, null, 2)}\n`)
}

/** What was measured last. */
export async function keptFigures(): Promise<Figures> {
  return figuresSchema.parse(JSON.parse(await readFile(MEASURED, 'utf8')))
}

const OPTIONS = {
  /** The address of an empty database of a PostgreSQL on this machine, for a superuser; without it, nothing is measured. */
  postgres: { type: 'string' },
  size: { type: 'string' },
  folder: { type: 'string' },
} as const
