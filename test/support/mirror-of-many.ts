import { readFileSync, writeFileSync } from 'node:fs'
import { openMirror } from '../../src/store/mirror.ts'
import { night } from '../store/nights.ts'
import { customers } from './builders.ts'
import { aMirrorFile } from './mirror-file.ts'

/** More than pipes hold. */
export const CUSTOMERS = 3000

let ofMany: Promise<Buffer> | undefined

/** A mirror that was made once for all tests, as a file. */
export async function aMirrorOfMany(): Promise<string> {
  const copy = aMirrorFile()
  writeFileSync(copy, await (ofMany ??= mirrorMany()), { mode: 0o600 })
  return copy
}

async function mirrorMany(): Promise<Buffer> {
  const made = await openMirror(aMirrorFile())
  await night(made, 0, customers(1, CUSTOMERS))
  await made.close()
  return readFileSync(made.file)
}
