import { getCompileCacheDir } from 'node:module'
import { dirname, extname } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * The arguments with which Node starts the program beside the module at `url`: TypeScript in a checkout, and compiled in an installed
 * package.
 */
export function programBeside(url: string, name: string): [starter: string, program: string] {
  return [fileURLToPath(STARTER), fileURLToPath(new URL(`${name}${extname(fileURLToPath(url))}`, url))]
}

const isCompiled = import.meta.url.endsWith('.js')
const STARTER = new URL(isCompiled ? '../../../src/cli/apart.mjs' : '../cli/apart.mjs', import.meta.url)

/**
 * The variable with which a process keeps what it compiled where this one does, and so starts in less than half the time. V8
 * refuses what was compiled under other flags: a process apart has the usual ones.
 */
export function keptCompiled(): { NODE_COMPILE_CACHE?: string } {
  const folder = getCompileCacheDir()
  return folder === undefined
    ? {}
    : { NODE_COMPILE_CACHE: dirname(folder).replace(/with-small-heap$/, 'with-usual-heap') }
}
