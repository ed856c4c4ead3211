import { fileURLToPath } from 'node:url'
import { measurementSchema, type Measurement, type Task } from './messages.ts'
import { type CommandName, isCommand, runCommand, type Starters } from './whole/run-command.ts'
import { runToEnd } from './run-to-end.ts'

/** Programs of the benchmark, each a process of its own that measures itself and ends with one line of JSON. */
const PROGRAMS = {
  mirror: new URL('contenders/mirror.ts', import.meta.url),
  loop: new URL('contenders/loop.ts', import.meta.url),
  download: new URL('floors/download.ts', import.meta.url),
  insert: new URL('floors/insert.ts', import.meta.url),
  dlt: new URL('contenders/dlt_pipeline.py', import.meta.url),
  pyairbyte: new URL('contenders/pyairbyte_sync.py', import.meta.url),
} as const
export type ProgramName = keyof typeof PROGRAMS | CommandName

/** What was compiled is kept there for the next start, as the command itself keeps it. */
const COMPILED = fileURLToPath(new URL('../node_modules/.cache/customer-mirror/benchmark', import.meta.url))

export type HowToRun = Starters & {
  /** A folder for CPU profiles of the contenders written in TypeScript; none are taken without it. */
  profileFolder?: string | undefined
}

/** Runs a program to its end. Rejects with what it said when it fails. */
export async function runProgram(name: ProgramName, task: Task, how: HowToRun): Promise<Measurement> {
  if (isCommand(name)) return runCommand(name, task, how)
  const { code, stdout, stderr } = await runToEnd([...commandOf(name, how), JSON.stringify(task)], {
    env: { NODE_COMPILE_CACHE: COMPILED },
  })
  if (code !== 0) throw new Error(`The benchmark's program "${name}" failed:\n${stderr.slice(-4000)}`)
  return measurementSchema.parse(JSON.parse(stdout.trim().split('\n').at(-1) ?? ''))
}

function commandOf(
  name: keyof typeof PROGRAMS,
  { profileFolder, python = 'python3' }: HowToRun,
): [string, ...string[]] {
  const script = fileURLToPath(PROGRAMS[name])
  if (script.endsWith('.py')) return [python, '-B', script]
  const isProfiled = profileFolder !== undefined && name === 'mirror'
  return [process.execPath, ...(isProfiled ? ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`] : []), script]
}
