import { spawn } from 'node:child_process'
import { getCompileCacheDir } from 'node:module'
import { dirname, extname } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

/**
 * The arguments with which Node starts the program beside the module at `url`: TypeScript in a checkout, and compiled in an installed
 * package. As in the launcher, no signal opens the debugger. Without a bound on young objects, an export of 100,000 customers to Parquet took
 * 281 MB of memory; with it, 197.
 */
export function programBeside(url: string, name: string): string[] {
  return [
    '--disable-sigusr1',
    '--max-semi-space-size=8',
    fileURLToPath(new URL(`${name}${extname(fileURLToPath(url))}`, url)),
  ]
}

/** The variable with which a process keeps what it compiled where this one does, and so starts in less than half the time. */
export function keptCompiled(): { NODE_COMPILE_CACHE?: string } {
  const folder = getCompileCacheDir()
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(folder) }
}

/**
 * Starts the program beside the module at `url`, gives it a text, and returns what it printed, and how it was ended unless it ended well. Aborting
 * `signal` kills it, at any moment.
 */
export async function askApart(
  url: string,
  name: string,
  asked: string,
  { env, signal }: { env: NodeJS.ProcessEnv; signal: AbortSignal },
): Promise<{ said: string; ending: string | undefined }> {
  const child = spawn(process.execPath, programBeside(url, name), {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: { ...env, ...keptCompiled() },
    signal,
    killSignal: 'SIGKILL',
  })
  let failed: Error | undefined
  // It could not be started, or was killed as asked.
  child.on('error', (error) => (failed = error))
  const closed = new Promise((resolve) => child.once('close', resolve))
  // A process that ended early does not read what it is given; its end says so.
  child.stdin.on('error', () => {})
  child.stdin.end(asked)
  const [said] = await Promise.all([text(child.stdout), closed])
  const ending = failed?.message ?? child.signalCode ?? `exit code ${child.exitCode}`
  return { said, ending: child.exitCode === 0 ? undefined : ending }
}
