import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { measurementSchema, type Measurement, type Task } from './messages.ts'

/** The programs that are measured, each a process of its own that measures itself and ends with one line of JSON. */
const PROGRAMS = {
  mirror: new URL('contenders/mirror.ts', import.meta.url),
  loop: new URL('contenders/loop.ts', import.meta.url),
  download: new URL('floors/download.ts', import.meta.url),
  insert: new URL('floors/insert.ts', import.meta.url),
  dlt: new URL('contenders/dlt_pipeline.py', import.meta.url),
  pyairbyte: new URL('contenders/pyairbyte_sync.py', import.meta.url),
} as const
export type ProgramName = keyof typeof PROGRAMS

export type HowToRun = {
  /** A folder for CPU profiles of the contenders written in TypeScript; none are taken without it. */
  profileFolder?: string | undefined
  /** For a program written in Python. */
  python?: string | undefined
}

/** Runs a program to its end. Rejects with what it said when it fails. */
export async function runProgram(name: ProgramName, task: Task, how: HowToRun): Promise<Measurement> {
  const { code, stdout, stderr } = await runToEnd(commandOf(name, how), [JSON.stringify(task)])
  if (code !== 0) throw new Error(`The benchmark's program "${name}" failed:\n${stderr.slice(-4000)}`)
  return measurementSchema.parse(JSON.parse(stdout.trim().split('\n').at(-1) ?? ''))
}

/** Runs a command without a terminal, and tells how it ended and how long that took. */
export async function runToEnd(
  [file, ...before]: readonly [string, ...string[]],
  args: readonly string[] = [],
  cwd?: string,
): Promise<{ code: number | null; stdout: string; stderr: string; wallMs: number }> {
  const startMs = performance.now()
  const child = spawn(file, [...before, ...args], { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'close').then(() => performance.now() - startMs)
  const [stdout, stderr, wallMs] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  return { code: child.exitCode, stdout, stderr, wallMs }
}

function commandOf(name: ProgramName, { profileFolder, python = 'python3' }: HowToRun): [string, ...string[]] {
  const script = fileURLToPath(PROGRAMS[name])
  if (script.endsWith('.py')) return [python, '-B', script]
  const isProfiled = profileFolder !== undefined && name === 'mirror'
  return [process.execPath, ...(isProfiled ? ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`] : []), script]
}
