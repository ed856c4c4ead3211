import { getCompileCacheDir } from 'node:module'
import { dirname, extname } from 'node:path'
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
