import { writeFileSync } from 'node:fs'

/** A file with this content; its path. */
export function written(path: string, content: string): string {
  writeFileSync(path, content)
  return path
}
