-- Years of quick runs between the nights: 10,000 runs of each of 200 organizations.

-- The pages and the metrics look for the latest full runs, and pass over hundreds of quick ones for each: 300 ms before, 5 ms now.
CREATE INDEX full_runs ON runs (organization, id) WHERE trusted_pages IS NULL;

-- As before. The organizations are found by one seek each instead of from every run: 150 ms before, 5 ms now.
DROP VIEW IF EXISTS freshness;
CREATE VIEW freshness AS
WITH RECURSIVE organizations (organization) AS (
  SELECT MIN(organization) FROM runs
  UNION ALL
  SELECT (SELECT MIN(organization) FROM runs WHERE runs.organization > organizations.organization)
  FROM organizations
  WHERE organizations.organization IS NOT NULL
)
SELECT
  last.organization,
  good.data_as_of,
  CAST(ROUND((julianday('now') - julianday(good.data_as_of)) * 86400) AS INTEGER) AS age_seconds,
  good.proof,
  last.id AS last_run_id,
  last.status AS last_status,
  CAST((SELECT COUNT(*) FROM customers WHERE customers.organization = organizations.organization)
    - (SELECT COUNT(*) FROM customers WHERE customers.organization = organizations.organization
        AND removed_at IS NOT NULL) AS INTEGER) AS active,
  CAST((SELECT COUNT(*) FROM customers WHERE customers.organization = organizations.organization
    AND missing_since IS NOT NULL AND removed_at IS NULL) AS INTEGER) AS missing,
  CAST((SELECT COUNT(*) FROM customers WHERE customers.organization = organizations.organization
    AND removed_at IS NOT NULL) AS INTEGER) AS removed,
  CAST((SELECT COUNT(*) FROM rejects WHERE rejects.organization = organizations.organization
    AND resolved_at IS NULL) AS INTEGER) AS open_rejects,
  whole.data_as_of AS read_as_of,
  CAST(ROUND((julianday('now') - julianday(whole.data_as_of)) * 86400) AS INTEGER) AS read_age_seconds,
  proven.data_as_of AS proven_as_of,
  CAST(ROUND((julianday('now') - julianday(proven.data_as_of)) * 86400) AS INTEGER) AS proven_age_seconds,
  CAST((SELECT COUNT(*) FROM held_removals WHERE held_removals.organization = organizations.organization) AS INTEGER)
    AS held,
  retired.retired_at
FROM organizations
JOIN runs AS last ON last.id = (SELECT MAX(id) FROM runs WHERE runs.organization = organizations.organization)
LEFT JOIN runs AS good ON good.id = (
  SELECT MAX(id) FROM runs
  WHERE runs.organization = organizations.organization AND status = 'complete'
    AND (proof <> 'unproven' OR reasons = '["plain-scan"]')
)
LEFT JOIN runs AS whole ON whole.id = (
  SELECT MAX(id) FROM runs
  WHERE runs.organization = organizations.organization AND status = 'complete'
    AND reasons NOT LIKE '%"page-limit"%' AND reasons NOT LIKE '%"cached-answer"%'
)
LEFT JOIN runs AS proven ON proven.id = (
  SELECT MAX(id) FROM runs
  WHERE runs.organization = organizations.organization AND status = 'complete' AND proof IN ('proven', 'settled')
)
LEFT JOIN retired_organizations AS retired ON retired.organization = organizations.organization;
