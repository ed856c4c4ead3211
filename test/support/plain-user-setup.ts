import { chownSync, mkdirSync } from 'node:fs'
import { getuid } from 'node:process'
import { fileURLToPath } from 'node:url'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder in which the program keeps what was compiled when a user who may not write in the checkout runs it. */
    compiledForPlainUser: string
  }
}

/** A user who owns nothing. */
export const PLAIN_USER = 65_534

const FOLDER = fileURLToPath(new URL('../../node_modules/.cache/customer-mirror-plain-user', import.meta.url))

/** Makes that folder, which is kept for the next run of the tests: without it each start of such a user takes three times as long. */
export function setup({ provide }: TestProject): void {
  mkdirSync(FOLDER, { recursive: true })
  if (getuid?.() === 0) chownSync(FOLDER, PLAIN_USER, PLAIN_USER)
  provide('compiledForPlainUser', FOLDER)
}
