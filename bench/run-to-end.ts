import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'

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
