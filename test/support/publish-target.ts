import { night } from '../store/nights.ts'
import { customers } from './builders.ts'
import { aMirror } from './mirror-file.ts'

/** Whether the tests may give files to others. */
export const isRoot = process.getuid?.() === 0

/** The path of a mirror of a few customers. */
export async function aSmallMirror(): Promise<string> {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 20))
  return mirror.file
}
