import { chownSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getuid } from 'node:process'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder in which the program keeps what was compiled when a user who may not write in the checkout runs it. */
    compiledForPlainUser: string
  }
}

/** A user who owns nothing. */
export const PLAIN_USER = 65_534

/** Makes that folder for as long as the tests run: without it each start of such a user takes three times as long. */
export function setup({ provide }: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'customer-mirror-compiled-'))
  if (getuid?.() === 0) chownSync(folder, PLAIN_USER, PLAIN_USER)
  provide('compiledForPlainUser', folder)
  return () => rmSync(folder, { recursive: true, force: true })
}
