import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdir, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'
import { childrenCpuMs, countWritten } from './measure.ts'
import { baseUrlOf, CREDENTIALS, type Measurement, measurementSchema, type Task } from './messages.ts'

/** Programs of the benchmark, each a process of its own that measures itself and ends with one line of JSON. */
const PROGRAMS = {
  mirror: new URL('contenders/mirror.ts', import.meta.url),
  download: new URL('floors/download.ts', import.meta.url),
  insert: new URL('floors/insert.ts', import.meta.url),
} as const

/** A program that knows nothing of the benchmark: it is started as users start it, and watched from the outside. */
type CommandName = keyof ReturnType<typeof commandLines>
export type ProgramName = keyof typeof PROGRAMS | CommandName

/** What was compiled is kept there for the next start, as the command itself keeps it. */
const COMPILED = fileURLToPath(new URL('../node_modules/.cache/customer-mirror/benchmark', import.meta.url))

/** What starts a program, where it is not the Node of the benchmark and the `python3` of the PATH. */
export type HowToRun = { node?: string | undefined; python?: string | undefined; built?: string | undefined }

/** Runs a program to its end. Rejects with what it said when it fails. */
export async function runProgram(name: ProgramName, task: Task, how: HowToRun): Promise<Measurement> {
  if (!isProgram(name)) return runCommand(name, task, how)
  const started = [process.execPath, fileURLToPath(PROGRAMS[name]), JSON.stringify(task)]
  // In one arena, as the image, the systemd unit and the launcher have it.
  const { stdout } = await runToEnd(started, { env: { NODE_COMPILE_CACHE: COMPILED, MALLOC_ARENA_MAX: '1' } })
  return measurementSchema.parse(JSON.parse(stdout.trim().split('\n').at(-1) ?? ''))
}

function isProgram(name: string): name is keyof typeof PROGRAMS {
  return name in PROGRAMS
}

/** Runs a command from start to exit: the time between, the memory of all its processes, what they wrote and left. */
async function runCommand(name: CommandName, task: Task, how: HowToRun): Promise<Measurement> {
  const cwd = join(dirname(task.file), 'whole')
  const exported = join(cwd, 'exported')
  await mkdir(cwd, { recursive: true })
  if (name === 'sync' || name === 'status') await writeConfiguration(cwd, task)
  const command = commandLines(task, exported, how)[name]
  const written = countWritten(cwd)
  const cpuMs = childrenCpuMs()
  let memory: ReturnType<typeof watchMemory> | undefined
  const { wallMs } = await runToEnd(command, {
    cwd,
    // Empty, it is as if it were not set: the file of this folder is read.
    env: { CUSTOMER_MIRROR_CONFIG: '', API_KEY: CREDENTIALS.apiKey, API_SECRET: CREDENTIALS.secret },
    onStart: (pid) => (memory = watchMemory(pid)),
  })
  const cpuAfterMs = childrenCpuMs()
  const isExport = name.startsWith('export')
  const left = isExport ? exported : task.file
  const fileBytes = await stat(left).then(
    ({ size }) => size,
    () => undefined,
  )
  await rm(exported, { force: true })
  return {
    ...{ wallMs, peakRssBytes: memory?.stop(), fileBytes, writtenBytes: written() },
    ...(isExport && { customers: task.customers }),
    cpuMs: cpuMs === undefined || cpuAfterMs === undefined ? undefined : cpuAfterMs - cpuMs,
  }
}

async function writeConfiguration(folder: string, { origin, organizations, file, concurrency, scan }: Task) {
  const config = {
    mirror: file,
    schedule: { cron: '0 2 * * *', timezone: 'Europe/Paris' },
    defaults: { concurrency, scan },
    organizations: organizations.map((id) => ({ id, baseUrl: baseUrlOf(origin, id), ...CREDENTIALS })),
  }
  await writeFile(join(folder, 'customer-mirror.yaml'), stringify(config))
}

function commandLines({ origin, organizations, file }: Task, exported: string, how: HowToRun) {
  const { node = process.execPath, python = 'python3', built = '' } = how
  const ours = [node, fileURLToPath(new URL('../src/cli/customer-mirror.mjs', import.meta.url))]
  const exporting = (format: string) => [...ours, 'export', '--mirror', file, '--format', format, '-o', exported]
  const inPython = (name: string) => [python, '-B', fileURLToPath(new URL(`contenders/${name}`, import.meta.url))]
  const byHand = [baseUrlOf(origin, organizations[0] ?? ''), file]
  return {
    nothing: [node, '-e', ''],
    help: [...ours, '--help'],
    status: [...ours, 'status'],
    sync: [...ours, 'sync'],
    'by-hand-node': [node, fileURLToPath(new URL('contenders/eight-at-once.mjs', import.meta.url)), ...byHand],
    'by-hand-go': [built, ...byHand],
    'by-hand-python': [...inPython('eight_at_once.py'), ...byHand],
    'export-csv': exporting('csv'),
    'export-jsonl': exporting('jsonl'),
    'export-parquet': exporting('parquet'),
    'export-by-hand': [...inPython('export_by_hand.py'), file, exported],
  } satisfies Record<string, string[]>
}

type Surroundings = { cwd?: string; env?: Readonly<Record<string, string>>; onStart?: (pid: number) => void }

/** Runs a command without a terminal, with `env` beside the variables of this process. Rejects when it fails, and with what it said. */
export async function runToEnd([file = '', ...args]: readonly string[], { cwd, env = {}, onStart }: Surroundings = {}) {
  const startMs = performance.now()
  const child = spawn(file, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'close').then(() => performance.now() - startMs)
  if (child.pid !== undefined) onStart?.(child.pid)
  const [stdout, stderr, wallMs] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  if (child.exitCode !== 0)
    throw new Error(`"${[file, ...args].join(' ')}" ended with ${child.exitCode}:\n${(stdout + stderr).slice(-4000)}`)
  return { stdout, wallMs }
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
