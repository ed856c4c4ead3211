import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'
import { countWritten } from '../measure.ts'
import { baseUrlOf, type Measurement, type Task } from '../messages.ts'
import { runWatched } from './run-watched.ts'

/** Programs that know nothing of the benchmark: they are started as users start them, and watched from the outside. */
const COMMANDS = {
  sync: new URL('../../src/cli/customer-mirror.mjs', import.meta.url),
  'by-hand-node': new URL('../contenders/eight-at-once.mjs', import.meta.url),
  'by-hand-python': new URL('../contenders/eight_at_once.py', import.meta.url),
} as const
export type CommandName = keyof typeof COMMANDS

/** The programs that start a command, where they are not the Node of the benchmark and the `python3` of the PATH. */
export type Starters = { node?: string | undefined; python?: string | undefined }

export function isCommand(name: string): name is CommandName {
  return name in COMMANDS
}

/** Runs a command from start to exit: the time between, the memory of all its processes, and what they wrote. */
export async function runCommand(name: CommandName, task: Task, starters: Starters): Promise<Measurement> {
  const workplace = join(dirname(task.file), 'whole')
  const { command, env } = await prepared(name, task, { workplace, starters })
  const written = countWritten(workplace)
  const watched = await runWatched(command, { file: task.file, cwd: workplace, env })
  return { ...watched, writtenBytes: written() }
}

type Prepared = { command: [string, ...string[]]; env: Record<string, string> }

/** The command line; for `sync`, a folder with its configuration, and for the others the key in the environment. */
async function prepared(
  name: CommandName,
  { origin, organizations, file, concurrency, scan }: Task,
  { workplace, starters }: { workplace: string; starters: Starters },
): Promise<Prepared> {
  const { node = process.execPath, python = 'python3' } = starters
  const program = fileURLToPath(COMMANDS[name])
  await mkdir(workplace, { recursive: true })
  if (name === 'sync') {
    const keys = { apiKey: 'made-up-key', secret: 'made-up-secret' }
    const config = {
      mirror: file,
      defaults: { concurrency, scan },
      organizations: organizations.map((id) => ({ id, baseUrl: baseUrlOf(origin, id), ...keys })),
    }
    await writeFile(join(workplace, 'customer-mirror.yaml'), stringify(config))
    // Empty, it is as if it were not set: the file of this folder is read.
    return { command: [node, program, 'sync'], env: { CUSTOMER_MIRROR_CONFIG: '' } }
  }
  const [organization = '', ...others] = organizations
  if (others.length > 0) throw new Error('The programs by hand mirror one organization.')
  const starter: [string, ...string[]] = name === 'by-hand-python' ? [python, '-B'] : [node]
  const env = { API_KEY: 'made-up-key', API_SECRET: 'made-up-secret' }
  return { command: [...starter, program, baseUrlOf(origin, organization), file], env }
}
