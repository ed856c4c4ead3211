import { openDatabase } from './opening/database.ts'

/** Locks of rows, a full disk and damage show when rows are written, and are not looked for here. */
const SHOWN_BY_A_LOOK = new Set(['mirror-unreachable', 'mirror-unreadable', 'mirror-read-only'])

/** Whether what made a run fail with this error code is over, as a transaction without rows shows; false where none can show it. */
export async function isUsableAgain(address: string, errorCode: string): Promise<boolean> {
  if (!SHOWN_BY_A_LOOK.has(errorCode)) return false
  try {
    const database = await openDatabase(address, 'write')
    try {
      await database.write(async () => {})
      return true
    } finally {
      await database.close()
    }
  } catch {
    return false
  }
}
