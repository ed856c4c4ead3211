import { dirname } from 'node:path'
import { fileError } from '../store/port/sqlite-errors.ts'

/** Does work that looks for files beside `file`. A folder that cannot be looked through is a MirrorUnusable, which names it. */
export function lookBeside<Result>(file: string, look: () => Result): Result {
  try {
    return look()
  } catch (error) {
    throw fileError(error, dirname(file))
  }
}
