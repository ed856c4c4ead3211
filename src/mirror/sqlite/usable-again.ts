import { randomBytes } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { factsOfCode } from '../../errors/error-facts.ts'
import { isMissing } from '../../machine/is-missing.ts'
import { openDatabase } from './opening/database.ts'

/** So much is written and removed again to see whether there is room: a run needs some of it at once. */
const ROOM_BYTES = 1024 * 1024

/**
 * Whether what made a run fail with this error code is over, as a look shows that waits for no other program and creates no mirror. False
 * where no look can show it: damage.
 */
export async function isUsableAgain(file: string, errorCode: string): Promise<boolean> {
  if (factsOfCode(errorCode).repairSeenBy === undefined || isMissing(file)) return false
  try {
    await writeBeside(realpathSync(file))
    // Whatever opens it to write makes a transaction.
    openDatabase(file, 'write', 0).close()
    return true
  } catch {
    return false
  }
}

/** Neither the numbers of a disk nor a small transaction show a quota: the WAL may have room inside. */
async function writeBeside(file: string): Promise<void> {
  const name = `${file}-room`
  await rm(name, { force: true })
  const handle = await open(name, 'wx', 0o600)
  try {
    // Nothing stays of it, whenever this process ends.
    await rm(name)
    await handle.writeFile(randomBytes(ROOM_BYTES))
    await handle.sync()
  } finally {
    await handle.close()
  }
}
