import { statSync } from 'node:fs'

/** Whether it is certain that there is no such file. In a folder that may not be entered it is not: whatever opens the file says why. */
export function isMissing(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false }) === undefined
  } catch {
    return false
  }
}
