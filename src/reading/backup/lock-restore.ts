import { dirname, join } from 'node:path'
import { mirrorFault } from '../../errors/faults.ts'
import { lock } from '../files/folder-lock.ts'
import { removeIfPossible } from '../files/remove-file.ts'

/** How long a restore waits for another one in the same folder. */
const LOCK_WAIT_MS = 2000

/**
 * Takes the lock of restores in the folder of a mirror: no other one works there, so unfinished files are of processes that were
 * killed. Throws MirrorUnusable `busy` while another restore has it.
 */
export function lockRestore(mirror: string): { release: () => void } {
  const path = join(dirname(mirror), '.restore.lock')
  const taken = lock(path, LOCK_WAIT_MS, (cause) => {
    return mirrorFault(mirror, { fault: 'busy', said: 'another restore is under way. Nothing was restored' }, { cause })
  })
  return {
    release() {
      removeIfPossible([path])
      taken.release()
    },
  }
}
