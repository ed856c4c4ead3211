import type { Forgetting, ForgottenCustomer, Mirror } from '../../../store.ts'
import { notForgotten, unknownCustomer } from '../../mirror-errors.ts'
import { writeTransaction, type Connection } from '../opening/database.ts'
import { deletingSecurely } from '../purge.ts'
import { deleteForgotten, forgottenSinceMs, rememberForgotten } from './forgotten.ts'
import { requireUnleased } from '../organizations/organization-tables.ts'
import { purgeCustomer } from './purge-customer.ts'
import { forgetWindows } from '../run/windows.ts'

/** The verbs of a mirror about forgotten customers, each in one transaction. */
export function forgetting(db: Connection, file: string): Pick<Mirror, 'forgetCustomer' | 'readmitCustomer'> {
  return {
    forgetCustomer: async (asked) =>
      deletingSecurely(db, () => writeTransaction(db, file, () => forgetCustomer(db, asked))),
    readmitCustomer: async (asked) => writeTransaction(db, file, () => readmitCustomer(db, asked)),
  }
}

/** A run whose lease has expired may only be paused: without the lease it can write nothing. */
function forgetCustomer(db: Connection, asked: Forgetting): ForgottenCustomer {
  const { organization, id, nowMs } = asked
  requireUnleased(db, organization, 'changed', asked)
  const sinceMs = forgottenSinceMs(db, organization, id)
  const purged = purgeCustomer(db, asked)
  const isKnown = Object.values(purged.deleted).some((count) => count > 0)
  if (sinceMs === undefined && !isKnown) throw unknownCustomer(organization)
  rememberForgotten(db, organization, id, nowMs)
  return { ...purged, forgottenAtMs: sinceMs ?? nowMs, wasForgotten: sinceMs !== undefined }
}

function readmitCustomer(db: Connection, asked: Forgetting): void {
  const { organization, id } = asked
  requireUnleased(db, organization, 'changed', asked)
  if (!deleteForgotten(db, organization, id)) throw notForgotten(organization)
  // A window of an interrupted run that holds its number is not read again.
  forgetWindows(db, organization)
}
