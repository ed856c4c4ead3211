import { factsOfCode } from '../../errors/error-facts.ts'
import { openDatabase } from './opening/database.ts'

/**
 * Whether what made a run fail with this error code is over, as a transaction without rows shows. False where none can: locks of rows, a full
 * disk and damage show when rows are written.
 */
export async function isUsableAgain(address: string, errorCode: string): Promise<boolean> {
  if (factsOfCode(errorCode).repairSeenBy !== 'transaction') return false
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
