import { rmSync } from 'node:fs'

/** Deletes a mirror. */
export function lose(mirror: string): void {
  for (const ending of ['', '-wal', '-shm']) rmSync(mirror + ending, { force: true })
}
