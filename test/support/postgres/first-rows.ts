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

/** The only customer of that run. */
export const A_CUSTOMER = {
  ...{
    row_id: 1,
    organization: 'acme',
    id: 'x',
    name: 'Ann',
    first_seen_at: AT,
    changed_at: AT,
    last_run_id: 1,
    updated_at: AT,
  },
}
