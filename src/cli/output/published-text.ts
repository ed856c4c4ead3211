import { reportedError } from '../../errors/errors.ts'
import type { Published } from '../../reading/publish/publish-plan.ts'
import { exitCodeOfAll, type ExitCode } from '../exit-code.ts'
import { count } from './wording.ts'

/** What was published, a line for each copy, and the organizations that are in none. */
export function publishedText({ copies, leftOut, bucket }: Published): string {
  const lines = copies.map(({ file, organizations }) => {
    const customers = organizations.reduce((sum, organization) => sum + organization.customers, 0)
    const of = organizations.length === 1 ? organizations[0]?.organization : count(organizations.length, 'organization')
    return `Copy for readers: ${file} (${of ?? ''}, ${count(customers, 'customer')})\n`
  })
  const left = leftOut.map(
    ({ organization }) => `Not in a copy: ${organization}, whose list was never read to its end\n`,
  )
  return [...lines, ...bucketLines(bucket), ...left].join('')
}

function bucketLines(bucket: Published['bucket']): string[] {
  if (bucket === undefined) return []
  const { to, organizations, gone } = bucket
  const made = organizations.filter(({ isNew }) => isNew).length
  const customers = organizations.reduce((sum, organization) => sum + organization.customers, 0)
  const written = made === 0 ? 'no object was out of date' : `${count(made, 'object')} written`
  return [
    `Objects for readers: ${to} (${count(organizations.length, 'organization')}, ${count(customers, 'customer')}; ${written})\n`,
    ...gone.map((organization) => `No longer there: ${organization}\n`),
  ]
}

/** What was not published, and what else an administrator should look at. Empty when all is well. */
export function failedText({ failed, warnings }: Published): string {
  // Part of one may stand: the message says what.
  const failures = failed.map(({ message }) => `✖ The copy for readers was not finished. ${message}\n`)
  return [...failures, ...warnings.map((warning) => `! ${warning}\n`)].join('')
}

/** The exit code for the copies alone. */
export function copyExitCode({ copies, failed }: Published): ExitCode {
  return exitCodeOfAll([...copies.map(() => undefined), ...failed.map(reportedError)])
}

/** The exit code for runs and the copies made after them. */
export function exitCodeWithCopies(runs: ExitCode, published: Published): ExitCode {
  const copies = copyExitCode(published)
  if (runs === copies || copies === 0) return runs
  return runs === 0 ? copies : 3
}
