import { statSync } from 'node:fs'
import { dirname } from 'node:path'

/** The permissions of users who neither own a file nor belong to its group. */
const EVERY_USER = 0o007
const ENTER = 0o001

/** What `check` says of a mirror file that every user of this machine may open; undefined where none may. */
export function exposedMirror(file: string): { said: string; fix: string } | undefined {
  const [folder, { mode }] = [statSync(dirname(file)), statSync(file)]
  if ((folder.mode & ENTER) === 0 || (mode & EVERY_USER) === 0 || process.platform === 'win32') return undefined
  return {
    said: `every user of this machine has access to it (its mode is ${(mode & 0o777).toString(8)})`,
    fix: 'The next run makes it private. Where its file system keeps no modes (FAT, exFAT, NTFS), mount that with umask=077, or keep the mirror elsewhere.',
  }
}
