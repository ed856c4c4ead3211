-- Freshness in two grades, removals that were searched for, and a keyed fingerprint.

-- A run may be waiting: the service named a time to come back at, and its job does. A CHECK cannot be changed in place, so the
-- table is made anew with everything it held. The numbers of runs that were deleted are not given out again. Foreign keys are
-- off while a mirror is brought up to date, so rows that refer to a run keep doing so. This stands first: what follows adds to the
-- new table.
CREATE TABLE runs_before AS SELECT * FROM runs;
CREATE TABLE runs_numbered AS SELECT seq FROM sqlite_sequence WHERE name = 'runs';
DROP TABLE runs;
CREATE TABLE runs (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  organization  TEXT NOT NULL,
  "trigger"     TEXT NOT NULL,                     -- sync | schedule | manual | catch-up
  started_at    DATETIME NOT NULL,
  finished_at   DATETIME,
  status        TEXT NOT NULL CHECK (status IN ('running', 'complete', 'failed', 'interrupted', 'waiting')),
  proof         TEXT NOT NULL DEFAULT 'unproven' CHECK (proof IN ('proven', 'converged', 'unproven')),
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
  certificate   TEXT                               -- JSON: what the proof rests on, passes, distinct ids, total, notes, holes
);
INSERT INTO runs (id, organization, "trigger", started_at, finished_at, status, proof, reasons, requests, pages, received,
  inserted, updated, unchanged, duplicates, rejected, missing, removed, returned, held, throttled, waited_ms, warnings,
  data_as_of, error_code, error, resumed_from, certificate)
SELECT id, organization, "trigger", started_at, finished_at, status, proof, reasons, requests, pages, received,
  inserted, updated, unchanged, duplicates, rejected, missing, removed, returned, held, throttled, waited_ms, warnings,
  data_as_of, error_code, error, resumed_from, certificate
FROM runs_before;
CREATE INDEX runs_by_organization ON runs (organization, id);
DELETE FROM sqlite_sequence WHERE name = 'runs';
INSERT INTO sqlite_sequence (name, seq) SELECT 'runs', seq FROM runs_numbered;
DROP TABLE runs_before;
DROP TABLE runs_numbered;

-- How long a run took, by a clock that nothing sets; NULL for runs before this. finished_at is never before started_at.
ALTER TABLE runs ADD COLUMN duration_ms INTEGER;

-- The end of a lease by the machine's monotonic clock, and the start of the machine that clock counts from: setting the wall
-- clock ends no lease of a run on this machine, and prolongs none.
ALTER TABLE leases ADD COLUMN boot TEXT;
ALTER TABLE leases ADD COLUMN expires_monotonic_ms INTEGER;

-- How current each organization's rows are, in three dates, each the start of a scan. read_as_of: the last run that read the list
-- to its end as it is now, whatever that proved. proven_as_of: the last one whose scan is proven. data_as_of, as before: the last
-- one that proved what its configuration asked of it (proven, converged, or a plain scan). held: removals that wait to be approved
-- or discarded.
DROP VIEW IF EXISTS freshness;
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
  WHERE runs.organization = organizations.organization AND status = 'complete'
    AND reasons NOT LIKE '%"page-limit"%' AND reasons NOT LIKE '%"cached-answer"%'
)
LEFT JOIN runs AS proven ON proven.id = (
  SELECT MAX(id) FROM runs
  WHERE runs.organization = organizations.organization AND status = 'complete' AND proof = 'proven'
);

-- The customers that the interrupted runs had read which a run went on from: its own numbers count only what it read itself.
ALTER TABLE runs ADD COLUMN read_before INTEGER NOT NULL DEFAULT 0;

-- 128 random bits under which records are fingerprinted, so that no customer can work out a name that gives his record the
-- fingerprint of another one. Made by the program, which has a source of chance fit for it. Internal, and in no view: a copy
-- of the mirror keeps it, what is published of one need not.
CREATE TABLE fingerprint_key (
  id  INTEGER PRIMARY KEY CHECK (id = 1),
  key BLOB NOT NULL CHECK (typeof(key) = 'blob' AND length(key) = 16)
);

-- Before a customer is removed it is searched for by the values read last: they are looked up here.
CREATE INDEX changes_by_customer ON changes (organization, id);
