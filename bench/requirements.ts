import { realpathSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Group, Member, Requirement } from './groups.ts'
import { postgresPrograms } from './postgres-server.ts'
import { runToEnd } from './run-program.ts'

/** The program on this machine for members that need more than the benchmark's own Node; undefined where there is none. */
export type Found = Readonly<Record<Requirement, string | undefined>>

/** Looks for the interpreter of a Python, for a Node 20 in the folders of a PATH, and for PostgreSQL; builds what is written in Go into a folder. */
export async function findRequirements(python: string, path: string, goInto: string | undefined): Promise<Found> {
  return {
    // A name on the PATH may be a script that looks for the interpreter at each start.
    Python: await outputOf([python, '-c', 'import sys, sqlite3; print(sys.executable)']),
    Go: goInto && (await goProgram(join(goInto, 'by-hand-go'))),
    'Node 20': await nodeTwenty(path),
    PostgreSQL: postgresPrograms(),
  }
}

/** The group with what its members need, and a line below its figures for each thing that is missing. */
export function equipped(group: Group, found: Found): Group {
  const { members } = group
  const missing = new Set(
    members.flatMap(({ needs }) => (needs === undefined || found[needs] !== undefined ? [] : needs)),
  )
  const notes = [...(group.notes ?? []), ...[...missing].map((requirement) => ABOUT_MISSING[requirement])]
  const present = members.filter(({ needs }) => needs === undefined || !missing.has(needs))
  return { ...group, members: present.map((member) => ({ ...member, ...starterOf(member, found) })), notes }
}

const ABOUT_MISSING: Readonly<Record<Requirement, string>> = {
  Python: 'programs in Python were not measured: there is no python3 here (--python FILE names one)',
  Go: 'programs in Go were not measured: there is no go here that can build them',
  PostgreSQL: 'a mirror in PostgreSQL was not measured: there is no initdb and postgres here',
  'Node 20': 'nothing was started from Node 20: there is none on the PATH',
}

function starterOf({ needs }: Member, found: Found): Pick<Member, 'node' | 'python' | 'built'> {
  const program = needs && found[needs]
  if (needs === undefined || needs === 'PostgreSQL' || program === undefined) return {}
  return { [STARTED_AS[needs]]: program }
}

const STARTED_AS = { Python: 'python', Go: 'built', 'Node 20': 'node' } as const

async function goProgram(file: string): Promise<string | undefined> {
  const source = fileURLToPath(new URL('contenders/eight-at-once', import.meta.url))
  return (await outputOf(['go', 'build', '-C', source, '-o', file, '.'])) === undefined ? undefined : file
}

async function nodeTwenty(path: string): Promise<string | undefined> {
  for (const folder of path.split(delimiter)) {
    const file = join(folder, 'node')
    const version = await outputOf([file, '--version'])
    if (version?.startsWith('v20.')) return realpathSync(file)
  }
  return undefined
}

/** Undefined when there is no such program, or it fails. */
function outputOf(command: readonly string[]): Promise<string | undefined> {
  return runToEnd(command).then(
    ({ stdout }) => stdout.trim(),
    () => undefined,
  )
}
