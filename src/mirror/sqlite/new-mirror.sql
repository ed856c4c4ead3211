-- A new mirror, as the migrations leave it. Written by: npx vitest run test/mirror/sqlite/migrations.test.ts --update

CREATE TABLE changes (
  seq          INTEGER PRIMARY KEY AUTOINCREMENT,
  run_id       INTEGER NOT NULL REFERENCES runs (id),
  organization TEXT NOT NULL,
  id           TEXT NOT NULL,
  change       TEXT NOT NULL CHECK (change IN ('added', 'changed', 'removed', 'returned')),
  fields       TEXT,                               -- JSON object: field -> [before, after]
  at           DATETIME NOT NULL
, missing_since DATETIME);

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

CREATE TABLE leases (
  organization  TEXT PRIMARY KEY,
  run_id        INTEGER NOT NULL REFERENCES runs (id),
  holder        TEXT NOT NULL,                     -- which process on which machine
  expires_at_ms INTEGER NOT NULL
, boot TEXT, expires_monotonic_ms INTEGER);

CREATE TABLE held_removals (
  organization TEXT NOT NULL,
  row_id       INTEGER PRIMARY KEY REFERENCES customers (row_id),
  run_id       INTEGER NOT NULL REFERENCES runs (id)
);

CREATE TABLE fingerprint_key (
  id  INTEGER PRIMARY KEY CHECK (id = 1),
  key BLOB NOT NULL CHECK (typeof(key) = 'blob' AND length(key) = 16)
);

CREATE TABLE "windows" (
  run_id      INTEGER NOT NULL REFERENCES runs (id),
  start       INTEGER NOT NULL,                    -- position of its first record, by the size asked for
  size        INTEGER NOT NULL,                    -- as asked for
  per_page    INTEGER NOT NULL,                    -- as served
  total       INTEGER,
  last_page   INTEGER,
  beyond_end  INTEGER NOT NULL,
  row_ids     BLOB,                                -- little-endian int32 a record: its row in customers, or 0 for a reject;
                                                   -- NULL where the window is known from the list
  rejected    TEXT,                                -- JSON array: the ids of its rejects in order, null where unreadable
  place       INTEGER,                             -- where its customers stand in the list as last read, when it is known
  count       INTEGER,                             -- how many they are
  PRIMARY KEY (run_id, start, size)
) WITHOUT ROWID;

CREATE TABLE lists (
  organization TEXT PRIMARY KEY,
  run_id       INTEGER NOT NULL REFERENCES runs (id),
  reader       TEXT NOT NULL,                      -- another program may store the same record in another way
  customers    INTEGER NOT NULL,
  warnings     TEXT NOT NULL                       -- JSON array: the kinds of oddities, the first is none
, order_facts TEXT, later_order TEXT);

CREATE TABLE list_chunks (
  organization    TEXT NOT NULL,
  chunk           INTEGER NOT NULL,                -- from 0
  row_ids         BLOB NOT NULL,                   -- little-endian uint32 a customer: its row in customers
  fingerprints    BLOB NOT NULL,                   -- little-endian float64 a customer; 0 where its record must be read again
  id_fingerprints BLOB NOT NULL,                   -- little-endian uint32 a customer: the same of its id
  comparisons     BLOB NOT NULL,                   -- a byte a customer: how it compares with the next one; 0 where unknown
  oddities        BLOB NOT NULL,                   -- a byte a customer: which of the warnings
  UNIQUE (organization, chunk)
);

CREATE TABLE list_windows (
  organization TEXT NOT NULL,
  number       INTEGER NOT NULL,                   -- from 0
  place        INTEGER NOT NULL,                   -- of its first customer in the list
  count        INTEGER NOT NULL,
  digest       TEXT NOT NULL,                      -- SHA-256 of the bytes of its records
  outline      TEXT NOT NULL,                      -- JSON: its first and last row, and how its rows compare
  PRIMARY KEY (organization, number)
) WITHOUT ROWID;

CREATE TABLE edited_customers (
  edit         INTEGER PRIMARY KEY AUTOINCREMENT,
  organization TEXT NOT NULL,
  row_id       INTEGER NOT NULL,
  UNIQUE (organization, row_id)
);

CREATE TABLE absences (
  organization TEXT NOT NULL,
  row_id       INTEGER PRIMARY KEY REFERENCES customers (row_id) ON DELETE CASCADE,
  proven       INTEGER NOT NULL,
  scans        INTEGER NOT NULL
);

CREATE TABLE "customers" (
  row_id         INTEGER PRIMARY KEY,              -- number of the row within this file
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
  updated_at     DATETIME NOT NULL,                -- the last visible change of the row; see last_update
  is_active      BOOLEAN NOT NULL DEFAULT 1        -- 0 once it is removed; not generated, which some tools do not show
);

CREATE TABLE last_update (
  id         INTEGER PRIMARY KEY CHECK (id = 1),
  updated_at DATETIME NOT NULL
);

CREATE TABLE dictionary (
  "table"    TEXT NOT NULL,
  "column"   TEXT NOT NULL,
  type       TEXT NOT NULL,
  meaning    TEXT NOT NULL,
  source     TEXT NOT NULL,                        -- service | mirror
  nullable   BOOLEAN NOT NULL,
  personal   BOOLEAN NOT NULL,                     -- may hold personal data of a customer
  UNIQUE ("table", "column")
);

CREATE TABLE privacy_policies (
  organization TEXT PRIMARY KEY,
  policy       TEXT NOT NULL,                      -- JSON: drop, hash, mixed, keyCheck
  next_policy  TEXT,                               -- the policy to which the stored values are being rewritten; NULL if none
  next_table   TEXT,                               -- how far that is
  next_row     INTEGER,
  unfilled     TEXT NOT NULL DEFAULT '[]',         -- JSON array: fields whose values the next complete reading fills in
  is_unpurged  BOOLEAN NOT NULL DEFAULT 0          -- old values may still stand in free space of the file
);

CREATE TABLE retired_organizations (
  organization TEXT PRIMARY KEY,
  retired_at   DATETIME NOT NULL
);

CREATE TABLE unfinished_forgets (
  organization TEXT PRIMARY KEY
);

CREATE TABLE forgotten_keys (
  organization TEXT NOT NULL PRIMARY KEY,
  key          BLOB NOT NULL CHECK (typeof(key) = 'blob' AND length(key) = 32)
);

CREATE TABLE forgotten (
  number       INTEGER PRIMARY KEY AUTOINCREMENT,
  organization TEXT NOT NULL REFERENCES forgotten_keys (organization) ON UPDATE CASCADE DEFERRABLE INITIALLY DEFERRED,
  hash         TEXT NOT NULL,                      -- HMAC-SHA-256 of the id in lower case, base64url
  forgotten_at DATETIME NOT NULL,
  UNIQUE (organization, hash)
);

CREATE TABLE horizons (
  organization   TEXT NOT NULL PRIMARY KEY,
  pruned_seq     INTEGER NOT NULL DEFAULT 0,       -- its changes up to this number are deleted, or are being deleted
  feed_seq       INTEGER NOT NULL DEFAULT 0,       -- a reader of changes who has read less than this needs a new copy
  history_from   DATETIME,                         -- its history and daily counts begin here; NULL: at its first complete run
  customers_from DATETIME                          -- customers removed before this are deleted; NULL: none
);

CREATE TABLE pruned_runs (
  organization TEXT NOT NULL PRIMARY KEY,
  before_day   TEXT NOT NULL
);

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

CREATE UNIQUE INDEX open_rejects ON rejects (organization, record_key) WHERE resolved_at IS NULL;

CREATE INDEX held_removals_by_organization ON held_removals (organization);

CREATE INDEX changes_by_customer ON changes (organization, id);

CREATE UNIQUE INDEX customers_by_id ON customers (organization, id);

CREATE INDEX customers_not_listed ON customers (organization, missing_since, removed_at)
  WHERE missing_since IS NOT NULL OR removed_at IS NOT NULL;

CREATE INDEX changes_by_day ON changes (organization, substr(at, 1, 10), change);

CREATE INDEX resolved_rejects ON rejects (organization, resolved_at) WHERE resolved_at IS NOT NULL;

CREATE INDEX runs_by_organization ON runs (organization, id);

CREATE INDEX complete_runs ON runs (organization, id) WHERE status = 'complete';

CREATE INDEX full_runs ON runs (organization, id) WHERE trusted_pages IS NULL;

CREATE VIEW active_customers AS
SELECT organization, id, name, username, email, phone, address, company_name, language, timezone, created_at, created_at_utc,
  extra, first_seen_at, changed_at, missing_since, removed_at, last_run_id, updated_at, is_active
FROM customers WHERE removed_at IS NULL;

CREATE VIEW customers_daily AS
WITH RECURSIVE counted (organization, day, change, customers) AS (
  SELECT changes.organization, substr(at, 1, 10), change, COUNT(*)
  FROM changes LEFT JOIN horizons ON horizons.organization = changes.organization
  WHERE seq > coalesce(pruned_seq, 0)
  GROUP BY changes.organization, substr(at, 1, 10), change
),
spans (organization, first_day, last_day, is_whole) AS (
  SELECT runs.organization, max(substr(MIN(finished_at), 1, 10), coalesce(substr(horizons.history_from, 1, 10), '')),
    max(substr(MIN(finished_at), 1, 10), coalesce(substr(horizons.history_from, 1, 10), ''),
      (SELECT substr(MAX(started_at), 1, 10) FROM runs AS last WHERE last.organization = runs.organization),
      coalesce((SELECT MAX(day) FROM counted WHERE counted.organization = runs.organization), '')),
    horizons.history_from IS NULL
  FROM runs LEFT JOIN horizons ON horizons.organization = runs.organization
  WHERE status = 'complete' AND reasons NOT LIKE '%"page-limit"%' AND reasons NOT LIKE '%"cached-answer"%'
  GROUP BY runs.organization
),
days (organization, day, last_day) AS (
  SELECT organization, first_day, last_day FROM spans
  UNION ALL
  SELECT organization, date(day, '+1 day'), last_day FROM days WHERE day < last_day
),
daily (organization, day, before, added, removed, changed) AS (
  SELECT organization, day, 0, 0, 0, 0 FROM days
  UNION ALL
  -- A clock that was set back may have dated a change before the first day.
  SELECT counted.organization, max(day, first_day), 0, iif(change IN ('added', 'returned'), customers, 0),
    iif(change = 'removed', customers, 0), iif(change = 'changed', customers, 0)
  FROM counted JOIN spans ON spans.organization = counted.organization
  UNION ALL
  SELECT organization, first_day, iif(is_whole, 0, customers), iif(is_whole, customers, 0), 0, 0 FROM (
    SELECT organization, first_day, is_whole,
      (SELECT COUNT(*) FROM customers WHERE customers.organization = spans.organization)
        - (SELECT COUNT(*) FROM customers WHERE customers.organization = spans.organization AND removed_at IS NOT NULL)
        - (SELECT coalesce(SUM(iif(change = 'removed', -customers, customers)), 0) FROM counted
          WHERE counted.organization = spans.organization AND change <> 'changed') AS customers
    FROM spans)
)
SELECT
  CAST(organization AS TEXT) AS organization,
  CAST(day AS TEXT) AS day,
  CAST(SUM(SUM(before) + SUM(added) - SUM(removed)) OVER (PARTITION BY organization ORDER BY day) AS INTEGER) AS active,
  CAST(SUM(added) AS INTEGER) AS added,
  CAST(SUM(removed) AS INTEGER) AS removed,
  CAST(SUM(changed) AS INTEGER) AS changed
FROM daily GROUP BY organization, day;

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

CREATE VIEW customers_history AS
WITH later AS (
  SELECT organization, id, seq, change, fields,
    MIN(iif(json_type(fields, '$.name') IS NULL, NULL,
      printf('%020d', seq) || json_quote(json_extract(fields, '$.name[0]')))) OVER after AS name,
    MIN(iif(json_type(fields, '$.username') IS NULL, NULL,
      printf('%020d', seq) || json_quote(json_extract(fields, '$.username[0]')))) OVER after AS username,
    MIN(iif(json_type(fields, '$.email') IS NULL, NULL,
      printf('%020d', seq) || json_quote(json_extract(fields, '$.email[0]')))) OVER after AS email,
    MIN(iif(json_type(fields, '$.phone') IS NULL, NULL,
      printf('%020d', seq) || json_quote(json_extract(fields, '$.phone[0]')))) OVER after AS phone,
    MIN(iif(json_type(fields, '$.address') IS NULL, NULL,
      printf('%020d', seq) || json_quote(json_extract(fields, '$.address[0]')))) OVER after AS address,
    MIN(iif(json_type(fields, '$.company_name') IS NULL, NULL,
      printf('%020d', seq) || json_quote(json_extract(fields, '$.company_name[0]')))) OVER after AS company_name,
    MIN(iif(json_type(fields, '$.language') IS NULL, NULL,
      printf('%020d', seq) || json_quote(json_extract(fields, '$.language[0]')))) OVER after AS language,
    MIN(iif(json_type(fields, '$.timezone') IS NULL, NULL,
      printf('%020d', seq) || json_quote(json_extract(fields, '$.timezone[0]')))) OVER after AS timezone,
    MIN(iif(json_type(fields, '$.created_at') IS NULL, NULL,
      printf('%020d', seq) || json_quote(json_extract(fields, '$.created_at[0]')))) OVER after AS created_at,
    MIN(iif(json_type(fields, '$.extra') IS NULL, NULL,
      printf('%020d', seq) || json_quote(json_extract(fields, '$.extra[0]')))) OVER after AS extra
  FROM changes
  WINDOW after AS (PARTITION BY organization, id ORDER BY seq DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
),
versions AS (
  SELECT organization, id, NULL AS closed_seq,
    (SELECT MAX(seq) FROM changes WHERE changes.organization = customers.organization AND changes.id = customers.id
      AND seq > coalesce((SELECT pruned_seq FROM horizons WHERE horizons.organization = customers.organization), 0))
      AS opened_seq,
    NULL AS name, NULL AS username, NULL AS email, NULL AS phone, NULL AS address, NULL AS company_name, NULL AS language,
    NULL AS timezone, NULL AS created_at, NULL AS extra
  FROM customers WHERE removed_at IS NULL
  UNION ALL
  SELECT organization, id, seq,
    (SELECT MAX(before.seq) FROM changes AS before
      WHERE before.organization = later.organization AND before.id = later.id AND before.seq < later.seq
        AND before.seq > coalesce((SELECT pruned_seq FROM horizons WHERE horizons.organization = later.organization), 0)),
    name, username, email, phone, address, company_name, language, timezone, created_at, extra
  FROM later WHERE change IN ('changed', 'removed') AND fields IS NOT '{ }'
    AND seq > coalesce((SELECT pruned_seq FROM horizons WHERE horizons.organization = later.organization), 0)
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
  CAST(iif(versions.name IS NULL, customers.name, json_extract(substr(versions.name, 21), '$')) AS TEXT) AS name,
  CAST(iif(versions.username IS NULL, customers.username, json_extract(substr(versions.username, 21), '$')) AS TEXT) AS username,
  CAST(iif(versions.email IS NULL, customers.email, json_extract(substr(versions.email, 21), '$')) AS TEXT) AS email,
  CAST(iif(versions.phone IS NULL, customers.phone, json_extract(substr(versions.phone, 21), '$')) AS TEXT) AS phone,
  CAST(iif(versions.address IS NULL, customers.address, json_extract(substr(versions.address, 21), '$')) AS TEXT) AS address,
  CAST(iif(versions.company_name IS NULL, customers.company_name, json_extract(substr(versions.company_name, 21), '$')) AS TEXT) AS company_name,
  CAST(iif(versions.language IS NULL, customers.language, json_extract(substr(versions.language, 21), '$')) AS TEXT) AS language,
  CAST(iif(versions.timezone IS NULL, customers.timezone, json_extract(substr(versions.timezone, 21), '$')) AS TEXT) AS timezone,
  CAST(iif(versions.created_at IS NULL, customers.created_at, json_extract(substr(versions.created_at, 21), '$')) AS TEXT) AS created_at,
  CAST(iif(versions.extra IS NULL, customers.extra, json_extract(substr(versions.extra, 21), '$')) AS TEXT) AS extra
FROM versions
JOIN customers ON customers.organization = versions.organization AND customers.id = versions.id
LEFT JOIN changes AS opened ON opened.seq = versions.opened_seq
LEFT JOIN changes AS closed ON closed.seq = versions.closed_seq
LEFT JOIN horizons ON horizons.organization = versions.organization;

CREATE TRIGGER customers_edited AFTER UPDATE ON customers
WHEN NEW.last_run_id = OLD.last_run_id
  OR NEW.last_run_id IS NOT (SELECT run_id FROM leases WHERE organization = NEW.organization)
BEGIN
  REPLACE INTO edited_customers (organization, row_id)
    VALUES (OLD.organization, OLD.row_id), (NEW.organization, NEW.row_id);
END;

CREATE TRIGGER customers_removed AFTER UPDATE OF removed_at ON customers
WHEN NEW.is_active IS NOT (NEW.removed_at IS NULL)
BEGIN
  UPDATE customers SET is_active = (NEW.removed_at IS NULL) WHERE row_id = NEW.row_id;
END;

CREATE TRIGGER customers_deleted AFTER DELETE ON customers
BEGIN
  REPLACE INTO edited_customers (organization, row_id) VALUES (OLD.organization, OLD.row_id);
  DELETE FROM absences WHERE row_id = OLD.row_id;
END;

INSERT INTO last_update (id, updated_at) VALUES (1, '1970-01-01 00:00:00.000');
