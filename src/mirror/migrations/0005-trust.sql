-- Freshness in two grades, removals that were searched for, and a keyed fingerprint.

-- How long a run took, by a clock that nothing sets; NULL for runs before this. finished_at is never before started_at.
ALTER TABLE runs ADD COLUMN duration_ms INTEGER;

-- The end of a lease by the machine's monotonic clock, and the start of the machine that clock counts from: setting the wall
-- clock ends no lease of a run on this machine, and prolongs none.
ALTER TABLE leases ADD COLUMN boot TEXT;
ALTER TABLE leases ADD COLUMN expires_monotonic_ms INTEGER;

-- How current each organization's rows are, in three dates, each the start of a scan. read_as_of: the last run that read the list
-- to its end, whatever it proved. proven_as_of: the last one whose scan is proven. data_as_of, as before: the last one that proved
-- what its configuration asked of it (proven, converged, or a plain scan). held: removals that wait to be approved or discarded.
DROP VIEW freshness;
CREATE VIEW freshness AS
SELECT
  organizations.organization,
  good.data_as_of,
  CAST(ROUND((julianday('now') - julianday(good.data_as_of)) * 86400) AS INTEGER) AS age_seconds,
  good.proof,
  last.id AS last_run_id,
  last.status AS last_status,
  (SELECT COUNT(*) FROM customers WHERE customers.organization = organizations.organization)
    - (SELECT COUNT(*) FROM customers WHERE customers.organization = organizations.organization
        AND removed_at IS NOT NULL) AS active,
  (SELECT COUNT(*) FROM customers WHERE customers.organization = organizations.organization
    AND missing_since IS NOT NULL AND removed_at IS NULL) AS missing,
  (SELECT COUNT(*) FROM customers WHERE customers.organization = organizations.organization
    AND removed_at IS NOT NULL) AS removed,
  (SELECT COUNT(*) FROM rejects WHERE rejects.organization = organizations.organization
    AND resolved_at IS NULL) AS open_rejects,
  whole.data_as_of AS read_as_of,
  CAST(ROUND((julianday('now') - julianday(whole.data_as_of)) * 86400) AS INTEGER) AS read_age_seconds,
  proven.data_as_of AS proven_as_of,
  CAST(ROUND((julianday('now') - julianday(proven.data_as_of)) * 86400) AS INTEGER) AS proven_age_seconds,
  (SELECT COUNT(*) FROM held_removals WHERE held_removals.organization = organizations.organization) AS held
FROM (SELECT organization, MAX(id) AS last_id FROM runs GROUP BY organization) AS organizations
JOIN runs AS last ON last.id = organizations.last_id
LEFT JOIN runs AS good ON good.id = (
  SELECT MAX(id) FROM runs
  WHERE runs.organization = organizations.organization AND status = 'complete'
    AND (proof IN ('proven', 'converged') OR reasons = '["plain-scan"]')
)
LEFT JOIN runs AS whole ON whole.id = (
  SELECT MAX(id) FROM runs
  WHERE runs.organization = organizations.organization AND status = 'complete' AND reasons NOT LIKE '%"page-limit"%'
)
LEFT JOIN runs AS proven ON proven.id = (
  SELECT MAX(id) FROM runs
  WHERE runs.organization = organizations.organization AND status = 'complete' AND proof = 'proven'
);
