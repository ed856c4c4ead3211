import { fileURLToPath } from 'node:url'

const RESOLVING = fileURLToPath(new URL('resolve-quickly.mjs', import.meta.url))

/** The arguments with which Node starts a program of the tests, in TypeScript. */
export function quickProgram(file: URL): string[] {
  return ['--import', RESOLVING, fileURLToPath(file)]
}
