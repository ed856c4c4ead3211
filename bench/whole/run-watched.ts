import { stat } from 'node:fs/promises'
import { childrenCpuMs } from '../measure.ts'
import type { Measurement } from '../messages.ts'
import { runToEnd } from '../run-to-end.ts'
import { watchMemory } from './family-memory.ts'

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
