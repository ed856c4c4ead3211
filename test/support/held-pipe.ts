import { execFileSync } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { onTestFinished } from 'vitest'

/** Makes a named pipe whose writer stays silent until the test ends. Returns its path, and its descriptor in this process. */
export function heldPipe(path: string): { path: string; descriptor: number } {
  execFileSync('mkfifo', [path])
  const descriptor = openSync(path, 'r+')
  onTestFinished(() => closeSync(descriptor))
  return { path, descriptor }
}
