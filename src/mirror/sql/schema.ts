import { MirrorUnusable } from '../../errors/errors.ts'

/** The version of the mirrors that this program makes, in both databases, and the only one that it opens. */
export const VERSION = 1

/** The error of a mirror, or of what is named as its place, that a program of another version made or has changed meanwhile. */
export function otherVersion(place: string, found: number): MirrorUnusable {
  return new MirrorUnusable(
    `${place}: another version of Customer Mirror made this mirror (it is of version ${found}, this program makes and reads version ${VERSION}), so ` +
      'it is left as it is. Use the version that made it, or name another mirror in the configuration and sync anew.',
    { code: 'version' },
  )
}

/** The tables, views and triggers that a schema makes. An index may be missing: some are made when there is something to find. */
export function namesIn(schema: string): string[] {
  return Array.from(schema.matchAll(/^CREATE (?:TABLE|VIEW|TRIGGER) (\w+)/gm), ([, name = '']) => name)
}

/** The error of a mirror of which someone dropped these tables, views or triggers. */
export function incomplete(place: string, missing: readonly string[]): MirrorUnusable {
  return new MirrorUnusable(
    `${place}: lacks what belongs to a mirror (${missing.join(', ')}). Put back a backup, or name another mirror in the configuration and ` +
      'sync anew.',
    { code: 'damaged' },
  )
}
