import { MirrorUnusable } from '../../errors/errors.ts'
import { systemCode } from '../../errors/code-of.ts'
import { PLACES } from '../../reading/files/place-error.ts'

/** What `check` reports of a mirror that cannot be written, by the error of the system. */
export function unwritableMirror(file: string, cause: unknown): { said: string; error: MirrorUnusable; fix: string } {
  const isOnReadOnlyDisk = systemCode(cause) === 'EROFS'
  const what = isOnReadOnlyDisk ? PLACES['EROFS'] : 'cannot be written by this user'
  const error = new MirrorUnusable(`${file}: ${what}`, { code: 'read-only' }, { cause })
  const fix = isOnReadOnlyDisk
    ? 'Mount it so that it can be written, or name another mirror in the configuration.'
    : 'Make the file and its folder writable.'
  return { said: error.message, error, fix }
}
