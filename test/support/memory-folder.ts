import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The folder that Linux keeps in memory, where it has room and runs programs; undefined elsewhere. Thousands of small mirrors wait
 * there for no disk: on a busy one the tests took twice as long. `roomBytes` is more than the tests ever hold at once.
 */
export function memoryFolder(folder = '/dev/shm', { roomBytes = 2 * 2 ** 30 } = {}): string | undefined {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize >= roomBytes && runsPrograms(folder) ? folder : undefined
  } catch {
    return undefined
  }
}

/** Containers often allow no program there. */
function runsPrograms(folder: string): boolean {
  const place = mkdtempSync(join(folder, 'customer-mirror-'))
  try {
    writeFileSync(join(place, 'program'), '#!/bin/sh\n', { mode: 0o755 })
    return spawnSync(join(place, 'program')).status === 0
  } finally {
    rmSync(place, { recursive: true })
  }
}
