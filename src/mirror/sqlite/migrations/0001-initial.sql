-- The mirror's first shape. Tables and columns below are public: later versions may add to them, never rename or drop.
-- Times are text in UTC, 'YYYY-MM-DD HH:MM:SS' (ours with milliseconds), so that they compare with datetime('now').

-- One row per attempt to mirror one organization. Counts: received = inserted + updated + unchanged + duplicates + rejected.
CREATE TABLE runs (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  organization  TEXT NOT NULL,
  "trigger"     TEXT NOT NULL,                     -- sync | schedule | manual | catch-up
  started_at    DATETIME NOT NULL,
  finished_at   DATETIME,
  status        TEXT NOT NULL CHECK (status IN ('running', 'complete', 'failed', 'interrupted')),
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
  error         TEXT
);
CREATE INDEX runs_by_organization ON runs (organization, id);

-- One row per customer ever listed. The documented fields are exactly as sent; missing and null are both NULL.
CREATE TABLE customers (
  row_id         INTEGER PRIMARY KEY,
  organization   TEXT NOT NULL,
  id             TEXT NOT NULL,                    -- UUID, lower case
  name           TEXT,
  username       TEXT,
  email          TEXT,
  phone          TEXT,
  address        TEXT,
  company_name   TEXT,
  language       TEXT,
  timezone       TEXT,
  created_at     TEXT,
  created_at_utc DATETIME,                         -- NULL when created_at cannot be read
  extra          TEXT,                             -- JSON object of fields the specification does not know
  first_seen_at  DATETIME NOT NULL,
  changed_at     DATETIME NOT NULL,
  missing_since  DATETIME,                         -- absent from the last proven scan
  removed_at     DATETIME,                         -- absent often enough to be taken as no longer active
  last_run_id    INTEGER NOT NULL REFERENCES runs (id),
  UNIQUE (organization, id)
);
CREATE INDEX customers_not_listed ON customers (organization, missing_since, removed_at)
  WHERE missing_since IS NOT NULL OR removed_at IS NOT NULL;

CREATE VIEW active_customers AS SELECT * FROM customers WHERE removed_at IS NULL;

-- A feed for incremental readers: WHERE seq > ? ORDER BY seq. An organization's first complete run is its base line and
-- records none.
CREATE TABLE changes (
  seq          INTEGER PRIMARY KEY AUTOINCREMENT,
  run_id       INTEGER NOT NULL REFERENCES runs (id),
  organization TEXT NOT NULL,
  id           TEXT NOT NULL,
  change       TEXT NOT NULL CHECK (change IN ('added', 'changed', 'removed', 'returned')),
  fields       TEXT,                               -- JSON object: field -> [before, after]
  at           DATETIME NOT NULL
);

-- Received records that are no valid customers, one row per distinct record for as long as it keeps coming.
CREATE TABLE rejects (
  reject_id     INTEGER PRIMARY KEY,
  run_id        INTEGER NOT NULL REFERENCES runs (id),  -- the run that saw it last
  organization  TEXT NOT NULL,
  record_id     TEXT,                              -- UUID, when one could be read
  record_key    TEXT NOT NULL,                     -- record_id, else a digest of the payload
  page          INTEGER NOT NULL,
  position      INTEGER NOT NULL,                  -- within the page, from 0
  payload       TEXT NOT NULL,                     -- JSON, as received
  reasons       TEXT NOT NULL,                     -- JSON array of { field, message }
  first_seen_at DATETIME NOT NULL,
  seen_at       DATETIME NOT NULL,
  resolved_at   DATETIME                           -- when it came right, or a complete run no longer received it
);
CREATE UNIQUE INDEX open_rejects ON rejects (organization, record_key) WHERE resolved_at IS NULL;

-- One writer per organization. Internal.
CREATE TABLE leases (
  organization  TEXT PRIMARY KEY,
  run_id        INTEGER NOT NULL REFERENCES runs (id),
  holder        TEXT NOT NULL,                     -- which process on which machine
  expires_at_ms INTEGER NOT NULL
);

-- How current each organization's rows are. data_as_of is that of its last complete run whose scan proved what its
-- configuration asked of it: proven, converged, or a plain scan that read to its end.
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
    AND resolved_at IS NULL) AS open_rejects
FROM (SELECT organization, MAX(id) AS last_id FROM runs GROUP BY organization) AS organizations
JOIN runs AS last ON last.id = organizations.last_id
LEFT JOIN runs AS good ON good.id = (
  SELECT MAX(id) FROM runs
  WHERE runs.organization = organizations.organization AND status = 'complete'
    AND (proof IN ('proven', 'converged') OR reasons = '["plain-scan"]')
);
