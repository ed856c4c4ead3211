import { realpathSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { Group, Member, Requirement } from './members.ts'
import type { Dataset } from './messages.ts'
import { postgresPrograms } from './postgres-server.ts'
import { type ProgramName, runToEnd } from './run-program.ts'

/** Public tools that a user might take instead. They are measured where they are installed, and never needed. */
const TOOLS: readonly Tool[] = [
  { name: 'dlt', program: 'dlt', module: 'dlt', install: 'pip install "dlt[duckdb]"' },
  { name: 'PyAirbyte', program: 'pyairbyte', module: 'airbyte', install: 'pip install airbyte' },
]
type Tool = { name: string; program: ProgramName; module: string; install: string }

/** The tools that one of the Pythons has, each for an initial sync and for a night after it, and a note for each other. */
export async function toolsGroup(
  dataset: Dataset,
  pythons: readonly string[],
): Promise<{ group: Group; notes: string[] }> {
  const members: Member[] = []
  const notes: string[] = []
  for (const tool of TOOLS) {
    const python = await pythonWith(tool.module, pythons)
    if (python === undefined) notes.push(`${tool.name} was not measured: it is not installed (${tool.install})`)
    else members.push(...membersOf(tool, dataset, python))
  }
  const about = `${dataset.customers.toLocaleString('en')} customers with public tools, no latency`
  return { group: { name: 'tools', about, members }, notes }
}

async function pythonWith(module: string, pythons: readonly string[]): Promise<string | undefined> {
  for (const python of pythons) {
    const { code } = await runToEnd([python, '-c', `import ${module}`]).catch(() => ({ code: 1 }))
    if (code === 0) return python
  }
  return undefined
}

function membersOf({ name, program }: Tool, dataset: Dataset, python: string): Member[] {
  const answering = { latencyMs: 0, gzip: false, edition: 'base' } as const
  const base = { program, dataset, python, answering, scan: 'plain', floors: [] } as const
  return [
    { ...base, name: `${name}, initial sync`, start: 'empty' },
    { ...base, name: `${name}, a second night`, start: 'yesterday' },
  ]
}

/** What was found on this machine for members that need more than the benchmark's own Node. */
export type Found = Readonly<Record<Requirement, string | undefined>>

/** Looks for a Python among the names given, for a Node 20 in the folders of a PATH, and for the programs of a PostgreSQL server. */
export async function findStarters(pythons: readonly string[], path: string): Promise<Found> {
  return { Python: await firstPython(pythons), 'Node 20': await nodeTwenty(path), PostgreSQL: postgresPrograms() }
}

/** The group with what its members need, and a line below its figures for each thing that is missing. */
export function equipped(group: Group, found: Found): Group {
  const { members } = group
  const needed = new Set(members.flatMap(({ needs }) => needs ?? []))
  const missing = [...needed].filter((requirement) => found[requirement] === undefined)
  const notes = [...(group.notes ?? []), ...missing.map((requirement) => ABOUT_MISSING[requirement])]
  const present = members.filter(({ needs }) => needs === undefined || found[needs] !== undefined)
  return { ...group, members: present.map((member) => ({ ...member, ...starterOf(member, found) })), notes }
}

const ABOUT_MISSING: Readonly<Record<Requirement, string>> = {
  Python: 'Python by hand was not measured: there is no python3 here (--python FILE names one)',
  PostgreSQL: 'a mirror in PostgreSQL was not measured: there is no initdb and postgres here',
  'Node 20': 'nothing was started from Node 20: there is none on the PATH',
}

function starterOf({ needs }: Member, found: Found): Pick<Member, 'node' | 'python'> {
  const program = needs && found[needs]
  if (program === undefined || needs === 'PostgreSQL') return {}
  return needs === 'Python' ? { python: program } : { node: program }
}

/** The interpreter itself: a name on the PATH may be a script that looks for it at each start. */
async function firstPython(names: readonly string[]): Promise<string | undefined> {
  for (const name of names) {
    const asked = await outputOf([name, '-c', 'import sys, sqlite3; print(sys.executable)'])
    if (asked !== undefined && asked !== '') return asked
  }
  return undefined
}

async function nodeTwenty(path: string): Promise<string | undefined> {
  const files = path.split(delimiter).flatMap((folder) => realFile(join(folder, 'node')) ?? [])
  for (const file of new Set(files)) {
    const version = await outputOf([file, '--version'])
    if (version?.startsWith('v20.')) return file
  }
  return undefined
}

function realFile(file: string): string | undefined {
  try {
    return realpathSync(file)
  } catch {
    return undefined
  }
}

/** Undefined when there is no such program, or it fails. */
async function outputOf(command: [string, ...string[]]): Promise<string | undefined> {
  const { code, stdout } = await runToEnd(command).catch(() => ({ code: 1, stdout: '' }))
  return code === 0 ? stdout.trim() : undefined
}
