import { existsSync, readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'

/** The file of a program that runs apart, such as `report/publish-process`: compiled as this code is, or TypeScript as this code is. */
export function programFile(name: string): string {
  return IS_COMPILED ? join(ROOT, 'dist/src', `${name}.js`) : join(ROOT, 'src', `${name}.ts`)
}

const MANIFEST = findPackageJSON(import.meta.url) ?? ''
const ROOT = dirname(MANIFEST)
const IS_COMPILED = !import.meta.url.endsWith('.ts')

/** Whether this is a checkout, where commands are run by npm, and not an installed package. */
export const IS_CHECKOUT = existsSync(join(ROOT, 'src/cli/main.ts'))

/** This program's version, from its package.json. Both are read once, at the start: a run does not depend on the files. */
export const { version: PROGRAM_VERSION }: { version: string } = JSON.parse(readFileSync(MANIFEST, 'utf8'))

/** The commit this program was made from, as its build wrote it down; undefined in a checkout, and where the build knew none. */
export const COMMIT = IS_CHECKOUT
  ? undefined
  : /^[0-9a-f]{12}/.exec(readFileSync(join(ROOT, 'dist/commit'), 'utf8'))?.[0]

/** The version and, where it is known, the commit it was made from: `0.2.0+4c3a4cc1a2b3`. */
export const EXACT_VERSION = COMMIT === undefined ? PROGRAM_VERSION : `${PROGRAM_VERSION}+${COMMIT}`
