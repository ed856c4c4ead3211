import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdir, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'
import { childrenCpuMs, countWritten } from './measure.ts'
import { baseUrlOf, type Measurement, measurementSchema, type Task } from './messages.ts'

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

/** Programs that know nothing of the benchmark: they are started as users start them, and watched from the outside. */
const COMMANDS = {
  sync: new URL('../src/cli/customer-mirror.mjs', import.meta.url),
  'by-hand-node': new URL('contenders/eight-at-once.mjs', import.meta.url),
  'by-hand-python': new URL('contenders/eight_at_once.py', import.meta.url),
} as const
export type CommandName = keyof typeof COMMANDS

/** The programs that start a command, where they are not the Node of the benchmark and the `python3` of the PATH. */
export type Starters = { node?: string | undefined; python?: string | undefined }

export function isCommand(name: string): name is CommandName {
  return name in COMMANDS
}

/** Runs a command from start to exit: the time between, the memory of all its processes, and what they wrote. */
async function runCommand(name: CommandName, task: Task, starters: Starters): Promise<Measurement> {
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

type Watched = Pick<Measurement, 'wallMs' | 'cpuMs' | 'peakRssBytes' | 'fileBytes'>

/** Runs a command from start to exit: the time between, the memory of all its processes, and the size of the file it leaves. */
export async function runWatched(
  command: readonly [string, ...string[]],
  { file, cwd, env }: { file: string; cwd?: string; env: Readonly<Record<string, string>> },
): Promise<Watched> {
  const cpuMs = childrenCpuMs()
  let memory: ReturnType<typeof watchMemory> | undefined
  const onStart = (pid: number) => (memory = watchMemory(pid))
  const { code, stdout, stderr, wallMs } = await runToEnd(command, { ...(cwd !== undefined && { cwd }), env, onStart })
  const peakRssBytes = memory?.stop()
  if (code !== 0) throw new Error(`"${command.join(' ')}" ended with ${code}:\n${(stdout + stderr).slice(-4000)}`)
  const cpuAfterMs = childrenCpuMs()
  return {
    ...{ wallMs, peakRssBytes, fileBytes: (await stat(file)).size },
    cpuMs: cpuMs === undefined || cpuAfterMs === undefined ? undefined : cpuAfterMs - cpuMs,
  }
}

/** How a command ended, and how long that took from the moment it was started. */
export type Ended = { code: number | null; stdout: string; stderr: string; wallMs: number }

type Surroundings = {
  cwd?: string
  /** Beside the variables of this process. */
  env?: Readonly<Record<string, string>>
  onStart?: (pid: number) => void
}

/** Runs a command without a terminal. Rejects when there is no such program. */
export async function runToEnd(
  [file, ...args]: readonly [string, ...string[]],
  { cwd, env = {}, onStart }: Surroundings = {},
): Promise<Ended> {
  const startMs = performance.now()
  const child = spawn(file, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'close').then(() => performance.now() - startMs)
  if (child.pid !== undefined) onStart?.(child.pid)
  const [stdout, stderr, wallMs] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  return { code: child.exitCode, stdout, stderr, wallMs }
}

const EVERY_MS = 20

/**
 * Watches a process and its children from the outside. `stop` returns the peaks of all of them together, in bytes; undefined
 * where the system does not say. The kernel keeps each peak, so that only what grew in the last moments can be overlooked.
 */
function watchMemory(pid: number): { stop(): number | undefined } {
  const peaks = new Map<number, number>()
  const look = () => noteFamily(pid, peaks)
  const timer = setInterval(look, EVERY_MS)
  look()
  return {
    stop() {
      clearInterval(timer)
      look()
      return peaks.size === 0 ? undefined : [...peaks.values()].reduce((sum, bytes) => sum + bytes, 0)
    },
  }
}

function noteFamily(pid: number, peaks: Map<number, number>): void {
  const kibibytes = /^VmHWM:\s+(\d+) kB/m.exec(textOf(`/proc/${pid}/status`))?.[1]
  if (kibibytes !== undefined) peaks.set(pid, Math.max(peaks.get(pid) ?? 0, Number(kibibytes) * 1024))
  const children = textOf(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean)
  for (const child of children) noteFamily(Number(child), peaks)
}

/** Nothing when the process has ended, or the system has no such files. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
