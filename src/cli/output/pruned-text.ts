import type { Report } from '../../report.ts'
import { count } from './wording.ts'

/** What retention deleted after the runs, a line for each organization. */
export function prunedText(reports: readonly Report[]): string {
  return reports
    .flatMap(({ organization, pruned }) => {
      if (pruned === undefined || pruned.error !== undefined) return []
      const counts = [
        [pruned.changes, 'change'],
        [pruned.removedCustomers, 'removed customer'],
        [pruned.resolvedRejects, 'resolved reject'],
        [pruned.runs, 'run'],
      ] as const
      const deleted = counts.filter(([number]) => number > 0).map(([number, noun]) => count(number, noun))
      const rest = pruned.isUnfinished ? '; the next run continues' : ''
      return [`${organization}: deleted ${deleted.join(', ')}, older than retention keeps them${rest}\n`]
    })
    .join('')
}

/** What kept retention from its work. The runs are as they were. */
export function unprunedText(reports: readonly Report[]): string {
  return reports
    .flatMap(({ organization, pruned }) => {
      if (pruned?.error === undefined) return []
      return [`! ${organization}: old rows were not deleted, and the next run tries again. ${pruned.error.message}\n`]
    })
    .join('')
}
