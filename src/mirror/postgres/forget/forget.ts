import type { Forgetting, ForgottenCustomer, Mirror } from '../../../store.ts'
import { notForgotten, unknownCustomer } from '../../mirror-errors.ts'
import { requireUnleased } from '../organizations/unleased.ts'
import type { Database, Session } from '../session.ts'
import { forgetWindows } from '../run/windows.ts'
import { deleteForgotten, forgottenSinceMs, rememberForgotten } from './forgotten.ts'
import { purgeCustomer, rowsLeft } from './purge-customer.ts'

/** The verbs of a mirror about forgotten customers, each in one transaction. */
export function forgetting(database: Database): Pick<Mirror, 'forgetCustomer' | 'readmitCustomer'> {
  return {
    forgetCustomer: (asked) =>
      database.write(
        (session) => forgetCustomer(session, asked),
        asked,
        (session) => isForgotten(session, asked),
      ),
    readmitCustomer: (asked) =>
      database.write(
        (session) => readmitCustomer(session, asked),
        asked,
        async (session) => (await forgottenSinceMs(session, asked)) === undefined,
      ),
  }
}

/** A run whose lease has expired may only be paused: without the lease it can write nothing. */
async function forgetCustomer(session: Session, asked: Forgetting): Promise<ForgottenCustomer> {
  const { organization, id, nowMs } = asked
  await requireUnleased(session, organization, 'changed')
  const sinceMs = await forgottenSinceMs(session, asked)
  const purged = await purgeCustomer(session, asked)
  const isKnown = Object.values(purged.deleted).some((count) => count > 0)
  if (sinceMs === undefined && !isKnown) throw unknownCustomer(organization)
  await rememberForgotten(session, organization, id, nowMs)
  return { ...purged, forgottenAtMs: sinceMs ?? nowMs, wasForgotten: sinceMs !== undefined }
}

/** Whether the mirror holds the hash of a customer, and nothing else of it. */
async function isForgotten(session: Session, asked: Forgetting): Promise<boolean> {
  if ((await forgottenSinceMs(session, asked)) === undefined) return false
  return (await rowsLeft(session, asked)).every(([, left]) => left === 0)
}

async function readmitCustomer(session: Session, { organization, id }: Forgetting): Promise<void> {
  await requireUnleased(session, organization, 'changed')
  if (!(await deleteForgotten(session, organization, id))) throw notForgotten(organization)
  // A window of an interrupted run that holds its number is not read again.
  await forgetWindows(session, organization)
}
