const AT = '2026-03-01 00:00:00.000'

/** The first run of a mirror, complete. */
export const A_RUN = {
  id: 1,
  organization: 'acme',
  trigger: 'sync',
  started_at: AT,
  read_as_of: AT,
  status: 'complete',
}
