-- A grade between proven and converged, and runs that read a part of the list only.

-- settled: every customer who kept its place among the others during the scan was read. partial: a quick run between two nights,
-- which is no complete run in any view. A CHECK cannot be changed in place, so the table is made anew with everything it held. The
-- numbers of runs that were deleted are not given out again. Foreign keys are off while a mirror is migrated, so rows that refer to
-- a run keep doing so.
CREATE TABLE runs_before AS SELECT * FROM runs;
CREATE TABLE runs_numbered AS SELECT seq FROM sqlite_sequence WHERE name = 'runs';
DROP TABLE runs;
CREATE TABLE runs (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  organization  TEXT NOT NULL,
  "trigger"     TEXT NOT NULL,                     -- sync | schedule | manual | catch-up
  started_at    DATETIME NOT NULL,
  finished_at   DATETIME,
  status        TEXT NOT NULL CHECK (status IN ('running', 'complete', 'failed', 'interrupted', 'waiting', 'partial')),
  proof         TEXT NOT NULL DEFAULT 'unproven' CHECK (proof IN ('proven', 'settled', 'converged', 'unproven')),
  reasons       TEXT NOT NULL DEFAULT '[]',        -- JSON array: why the scan is not proven
  requests      INTEGER NOT NULL DEFAULT 0,
  pages         INTEGER NOT NULL DEFAULT 0,
  received      INTEGER NOT NULL DEFAULT 0,
  inserted      INTEGER NOT NULL DEFAULT 0,
  updated       INTEGER NOT NULL DEFAULT 0,
  unchanged     INTEGER NOT NULL DEFAULT 0,
  duplicates    INTEGER NOT NULL DEFAULT 0,
  rejected      INTEGER NOT NULL DEFAULT 0,
  missing       INTEGER NOT NULL DEFAULT 0,
  removed       INTEGER NOT NULL DEFAULT 0,
  returned      INTEGER NOT NULL DEFAULT 0,
  held          INTEGER NOT NULL DEFAULT 0,
  throttled     INTEGER NOT NULL DEFAULT 0,
  waited_ms     INTEGER NOT NULL DEFAULT 0,
  warnings      TEXT NOT NULL DEFAULT '{}',        -- JSON object: kind of oddity -> how often it was kept
  data_as_of    DATETIME NOT NULL,                 -- start of the scan
  error_code    TEXT,
  error         TEXT,
  resumed_from  INTEGER REFERENCES runs (id),      -- the interrupted run whose windows it went on from
  certificate   TEXT,                              -- JSON: what the proof rests on, passes, distinct ids, total, notes, holes
  duration_ms   INTEGER,                           -- by a clock that nothing sets; NULL for runs of older versions
  read_before   INTEGER NOT NULL DEFAULT 0,        -- customers read by the interrupted runs that it went on from
  suppressed    INTEGER NOT NULL DEFAULT 0,        -- records of forgotten customers
  trusted_pages INTEGER                            -- pages that a quick run trusted without reading them; NULL in other runs
);
INSERT INTO runs (id, organization, "trigger", started_at, finished_at, status, proof, reasons, requests, pages, received,
  inserted, updated, unchanged, duplicates, rejected, missing, removed, returned, held, throttled, waited_ms, warnings,
  data_as_of, error_code, error, resumed_from, certificate, duration_ms, read_before, suppressed)
SELECT id, organization, "trigger", started_at, finished_at, status, proof, reasons, requests, pages, received,
  inserted, updated, unchanged, duplicates, rejected, missing, removed, returned, held, throttled, waited_ms, warnings,
  data_as_of, error_code, error, resumed_from, certificate, duration_ms, read_before, suppressed
FROM runs_before;
CREATE INDEX runs_by_organization ON runs (organization, id);
-- Between two nights there may be a hundred quick runs. Freshness and history look for the last complete run, and pass over them.
CREATE INDEX complete_runs ON runs (organization, id) WHERE status = 'complete';
DELETE FROM sqlite_sequence WHERE name = 'runs';
INSERT INTO sqlite_sequence (name, seq) SELECT 'runs', seq FROM runs_numbered;
DROP TABLE runs_before;
DROP TABLE runs_numbered;

-- As before, with data_as_of of settled runs too. The latest run may be a partial one; the dates never are.
DROP VIEW IF EXISTS freshness;
CREATE VIEW freshness AS
SELECT
  organizations.organization,
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
FROM (SELECT organization, MAX(id) AS last_id FROM runs GROUP BY organization) AS organizations
JOIN runs AS last ON last.id = organizations.last_id
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

-- As before, with settled runs among those that saw the old value.
DROP VIEW IF EXISTS customers_history;
CREATE VIEW customers_history AS
WITH versions AS (
  SELECT organization, id, NULL AS closed_seq,
    (SELECT MAX(seq) FROM changes WHERE changes.organization = customers.organization AND changes.id = customers.id
      AND seq > coalesce((SELECT pruned_seq FROM horizons WHERE horizons.organization = customers.organization), 0))
      AS opened_seq
  FROM customers WHERE removed_at IS NULL
  UNION ALL
  SELECT organization, id, seq,
    (SELECT MAX(before.seq) FROM changes AS before
      WHERE before.organization = changes.organization AND before.id = changes.id AND before.seq < changes.seq
        AND before.seq > coalesce((SELECT pruned_seq FROM horizons WHERE horizons.organization = changes.organization), 0))
  FROM changes WHERE change IN ('changed', 'removed') AND fields IS NOT '{ }'
    AND seq > coalesce((SELECT pruned_seq FROM horizons WHERE horizons.organization = changes.organization), 0)
)
SELECT
  versions.organization,
  versions.id,
  (SELECT max(customers.first_seen_at, coalesce(horizons.history_from, '')) WHERE opened.seq IS NULL
    UNION ALL SELECT opened.at WHERE opened.seq IS NOT NULL) AS valid_from,
  closed.at AS valid_to,
  (SELECT data_as_of FROM runs
    WHERE runs.organization = versions.organization AND runs.id < opened.run_id AND status = 'complete'
      AND (proof <> 'unproven' OR reasons = '["plain-scan"]')
    ORDER BY runs.id DESC LIMIT 1) AS valid_from_after,
  (SELECT data_as_of FROM runs
    WHERE runs.organization = versions.organization AND runs.id < closed.run_id AND status = 'complete'
      AND (proof <> 'unproven' OR reasons = '["plain-scan"]')
      AND (closed.change = 'changed' OR finished_at < closed.missing_since)
    ORDER BY runs.id DESC LIMIT 1) AS valid_to_after,
  CAST(coalesce(opened.change, iif(customers.first_seen_at < horizons.history_from, 'kept', 'listed')) AS TEXT) AS opened_by,
  closed.change AS closed_by,
  CAST(iif(versions.closed_seq IS NULL, customers.name, json_extract(coalesce(
    (SELECT json_quote(json_extract(later.fields, '$.name[0]')) FROM changes AS later
      WHERE later.organization = versions.organization AND later.id = versions.id AND later.seq >= versions.closed_seq
        AND json_type(later.fields, '$.name') IS NOT NULL ORDER BY later.seq LIMIT 1),
    json_quote(customers.name)), '$')) AS TEXT) AS name,
  CAST(iif(versions.closed_seq IS NULL, customers.username, json_extract(coalesce(
    (SELECT json_quote(json_extract(later.fields, '$.username[0]')) FROM changes AS later
      WHERE later.organization = versions.organization AND later.id = versions.id AND later.seq >= versions.closed_seq
        AND json_type(later.fields, '$.username') IS NOT NULL ORDER BY later.seq LIMIT 1),
    json_quote(customers.username)), '$')) AS TEXT) AS username,
  CAST(iif(versions.closed_seq IS NULL, customers.email, json_extract(coalesce(
    (SELECT json_quote(json_extract(later.fields, '$.email[0]')) FROM changes AS later
      WHERE later.organization = versions.organization AND later.id = versions.id AND later.seq >= versions.closed_seq
        AND json_type(later.fields, '$.email') IS NOT NULL ORDER BY later.seq LIMIT 1),
    json_quote(customers.email)), '$')) AS TEXT) AS email,
  CAST(iif(versions.closed_seq IS NULL, customers.phone, json_extract(coalesce(
    (SELECT json_quote(json_extract(later.fields, '$.phone[0]')) FROM changes AS later
      WHERE later.organization = versions.organization AND later.id = versions.id AND later.seq >= versions.closed_seq
        AND json_type(later.fields, '$.phone') IS NOT NULL ORDER BY later.seq LIMIT 1),
    json_quote(customers.phone)), '$')) AS TEXT) AS phone,
  CAST(iif(versions.closed_seq IS NULL, customers.address, json_extract(coalesce(
    (SELECT json_quote(json_extract(later.fields, '$.address[0]')) FROM changes AS later
      WHERE later.organization = versions.organization AND later.id = versions.id AND later.seq >= versions.closed_seq
        AND json_type(later.fields, '$.address') IS NOT NULL ORDER BY later.seq LIMIT 1),
    json_quote(customers.address)), '$')) AS TEXT) AS address,
  CAST(iif(versions.closed_seq IS NULL, customers.company_name, json_extract(coalesce(
    (SELECT json_quote(json_extract(later.fields, '$.company_name[0]')) FROM changes AS later
      WHERE later.organization = versions.organization AND later.id = versions.id AND later.seq >= versions.closed_seq
        AND json_type(later.fields, '$.company_name') IS NOT NULL ORDER BY later.seq LIMIT 1),
    json_quote(customers.company_name)), '$')) AS TEXT) AS company_name,
  CAST(iif(versions.closed_seq IS NULL, customers.language, json_extract(coalesce(
    (SELECT json_quote(json_extract(later.fields, '$.language[0]')) FROM changes AS later
      WHERE later.organization = versions.organization AND later.id = versions.id AND later.seq >= versions.closed_seq
        AND json_type(later.fields, '$.language') IS NOT NULL ORDER BY later.seq LIMIT 1),
    json_quote(customers.language)), '$')) AS TEXT) AS language,
  CAST(iif(versions.closed_seq IS NULL, customers.timezone, json_extract(coalesce(
    (SELECT json_quote(json_extract(later.fields, '$.timezone[0]')) FROM changes AS later
      WHERE later.organization = versions.organization AND later.id = versions.id AND later.seq >= versions.closed_seq
        AND json_type(later.fields, '$.timezone') IS NOT NULL ORDER BY later.seq LIMIT 1),
    json_quote(customers.timezone)), '$')) AS TEXT) AS timezone,
  CAST(iif(versions.closed_seq IS NULL, customers.created_at, json_extract(coalesce(
    (SELECT json_quote(json_extract(later.fields, '$.created_at[0]')) FROM changes AS later
      WHERE later.organization = versions.organization AND later.id = versions.id AND later.seq >= versions.closed_seq
        AND json_type(later.fields, '$.created_at') IS NOT NULL ORDER BY later.seq LIMIT 1),
    json_quote(customers.created_at)), '$')) AS TEXT) AS created_at,
  CAST(iif(versions.closed_seq IS NULL, customers.extra, json_extract(coalesce(
    (SELECT json_quote(json_extract(later.fields, '$.extra[0]')) FROM changes AS later
      WHERE later.organization = versions.organization AND later.id = versions.id AND later.seq >= versions.closed_seq
        AND json_type(later.fields, '$.extra') IS NOT NULL ORDER BY later.seq LIMIT 1),
    json_quote(customers.extra)), '$')) AS TEXT) AS extra
FROM versions
JOIN customers ON customers.organization = versions.organization AND customers.id = versions.id
LEFT JOIN changes AS opened ON opened.seq = versions.opened_seq
LEFT JOIN changes AS closed ON closed.seq = versions.closed_seq
LEFT JOIN horizons ON horizons.organization = versions.organization;
