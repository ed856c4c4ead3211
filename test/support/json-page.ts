import { readFileSync } from 'node:fs'
import { z } from 'zod'
import type { Report } from '../../src/model/report.ts'

/** What stands under one heading of docs/reference/json.md: its keys with their values, and the heading whose keys it has as well. */
type Section = { isCommand: boolean; keys: [key: string, value: string][]; further: string | undefined }

const SECTIONS = sectionsOf(readFileSync(new URL('../../docs/reference/json.md', import.meta.url), 'utf8'))

/** The heading of each command that the page describes. */
const HEADINGS = new Map(
  [...SECTIONS].flatMap(([heading, { isCommand }]) =>
    isCommand ? heading.split(', ').map((command): [string, string] => [command, heading]) : [],
  ),
)

/** The commands that the page describes, such as `runs show`. */
export const DOCUMENTED_COMMANDS = [...HEADINGS.keys()]

/** Throws where a command line with `--json` printed something else than docs/reference/json.md says. */
export function requireDocumented(args: readonly string[], stdout: string): void {
  if (!args.includes('--json') || !stdout.startsWith('{') || !stdout.endsWith('}\n')) return
  const named = DOCUMENTED_COMMANDS.filter((command) => command.split(' ').every((word) => args.includes(word)))
  const [command = ''] = named.toSorted((one, other) => other.length - one.length)
  const document = z.strictObject({ schemaVersion: z.literal(1), ...shapeOf(HEADINGS.get(command) ?? command) })
  const { error } = document.safeParse(JSON.parse(stdout))
  if (error !== undefined)
    throw new Error(`docs/reference/json.md says otherwise of ${command} --json: ${z.prettifyError(error)}`)
}

function sectionsOf(page: string): Map<string, Section> {
  const parts = page.split(/^(##+) (.+)$/m).slice(1)
  const sections = new Map<string, Section>()
  for (let at = 0; at < parts.length; at += 3) {
    const [marks = '', heading = '', body = ''] = parts.slice(at, at + 3)
    const keys = [...body.matchAll(/^- (`\w+`(?:, `\w+`)*)(?: \((.+?)\))?: /gm)].flatMap(
      ([, names = '', value = 'text']) => [...names.matchAll(/\w+/g)].map(([key]): [string, string] => [key, value]),
    )
    const further = /^And all keys of \[(.+?)\]/m.exec(body)?.[1]
    sections.set(heading, { isCommand: marks === '##', keys, further })
  }
  return sections
}

function shapeOf(heading: string): Record<string, z.ZodType> {
  const { keys, further } = SECTIONS.get(heading) ?? { keys: [], further: undefined }
  if (keys.length === 0 && further === undefined)
    throw new Error(`docs/reference/json.md has no keys under "${heading}".`)
  const own = Object.fromEntries(keys.map(([key, value]) => [key, typeOf(value)]))
  return { ...(further !== undefined && shapeOf(further)), ...own }
}

function typeOf(value: string): z.ZodType {
  const optional = /^(.+), or absent$/.exec(value)?.[1]
  if (optional !== undefined) return typeOf(optional).optional()
  const nullable = /^(.+?),? or null$/.exec(value)?.[1]
  if (nullable !== undefined) return typeOf(nullable).nullable()
  const listed = /^list of (.+)$/.exec(value)?.[1]
  if (listed !== undefined) return z.array(typeOf(listed))
  const described = /^\[(.+)\]\(#.+\)$/.exec(value)?.[1]
  if (described !== undefined) return z.lazy(() => z.strictObject(shapeOf(described)))
  const plain = PLAIN.get(value)
  if (plain === undefined) throw new Error(`docs/reference/json.md has a value of an unknown kind: ${value}.`)
  return plain
}

const PLAIN: ReadonlyMap<string, z.ZodType> = new Map<string, z.ZodType>([
  ['text', z.string()],
  ['number', z.int()],
  ['true or false', z.boolean()],
  ['time', z.iso.datetime()],
  ['stored time', z.string().regex(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}$/)],
  ['object', z.record(z.string(), z.unknown())],
  ['anything', z.unknown()],
])

export type SyncRun = Omit<Report, 'error' | 'runId'> & {
  error: { code: string; message: string } | null
  runId: number | null
  startedAt: string
  finishedAt: string | null
}

/** The runs in what `sync --json` printed, which must be one document and nothing else. */
export function syncRuns(stdout: string): SyncRun[] {
  requireDocumented(['sync', '--json'], stdout)
  const { runs }: { runs: SyncRun[] } = JSON.parse(stdout)
  return runs
}

export function onlyRun(stdout: string): SyncRun {
  const [run, ...others] = syncRuns(stdout)
  if (run === undefined || others.length > 0) throw new Error(`expected one run, got ${others.length}`)
  return run
}
