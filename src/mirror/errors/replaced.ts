import { MirrorUnusable } from '../../errors/errors.ts'
import type { Standing } from '../../store.ts'

/** The error of a run whose file was replaced or deleted meanwhile. */
export function replaced(file: string, found: Exclude<Standing, 'same'>): MirrorUnusable {
  const what = found === 'none' ? 'was deleted or moved away' : 'was replaced by another file'
  return new MirrorUnusable(
    `${file}: ${what} while it was open, so what this run wrote is not there. Sync again: ` +
      `${found === 'none' ? 'a new mirror is made' : 'the file that is there now is used'}. ` +
      'Next time stop everything that writes to the mirror first.',
    { code: 'replaced' },
  )
}
