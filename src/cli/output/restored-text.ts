import type { Restored } from '../../reading/backup/restore-mirror.ts'
import { count } from './wording.ts'

/** What was restored, and what is left to do. */
export function restoredText({
  mirror,
  file,
  takenAt,
  customers,
  organizations,
  kept,
  feedGoesBack,
  forgotten,
  unrecognized,
  onlyInBackup,
}: Restored): string {
  const taken = takenAt === undefined ? '' : `, taken at ${takenAt.slice(0, 19)} UTC`
  const lines = [
    `Mirror: ${mirror}`,
    `Restored from ${file}${taken}: ${count(customers, 'customer')} of ${count(organizations, 'organization')}`,
  ]
  if (kept !== undefined)
    lines.push(
      `The mirror that was there is now ${kept}. It holds personal data: remove it when you no longer need it.`,
    )
  if (forgotten === undefined)
    lines.push(
      `${kept === undefined ? 'There is no replaced mirror to compare with' : 'The replaced mirror cannot be read'}: customers that ` +
        'were forgotten after the backup are back. Forget them again before the next run.',
    )
  else if (forgotten > 0)
    lines.push(
      `${count(forgotten, 'customer')} forgotten after the backup: still forgotten, and what the backup held of them is deleted.`,
    )
  if (unrecognized > 0)
    lines.push(
      `${count(unrecognized, 'customer')} forgotten in the replaced mirror cannot be recognized here: it was begun anew, and ` +
        'the backup has another key and not their ids. Forget them again where they are listed.',
    )
  if (onlyInBackup.length > 0)
    lines.push(
      `In the backup, and not in the replaced mirror: ${onlyInBackup.join(', ')}. If you renamed or forgot an organization after the ` +
        'backup, do that again.',
    )
  if (feedGoesBack)
    lines.push(
      'What happened after the backup is gone from the feed, and its numbers are not used again. Programs that read changes ' +
        'or updated_at need a new copy of the customers.',
    )
  return `${lines.join('\n')}\n`
}
