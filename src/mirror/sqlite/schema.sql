-- The mirror in SQLite, as this program makes it. `dictionary` says in the file itself what each public column holds. Times are text in UTC,
-- 'YYYY-MM-DD HH:MM:SS' (those of the mirror with milliseconds), so that they compare with datetime('now').

-- Public: one row for each attempt to mirror one organization.
CREATE TABLE runs (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  organization  TEXT NOT NULL,
  "trigger"     TEXT NOT NULL,                     -- sync | schedule | manual | catch-up
  started_at    DATETIME NOT NULL,
  finished_at   DATETIME,                          -- never before started_at
  duration_ms   INTEGER,                           -- by a clock that nothing sets
  read_as_of    DATETIME NOT NULL,                 -- start of the scan; of one that was resumed, that of its first part
  status        TEXT NOT NULL CHECK (status IN ('running', 'complete', 'failed', 'interrupted', 'waiting', 'partial')),
  proof         TEXT NOT NULL DEFAULT 'unproven' CHECK (proof IN ('proven', 'settled', 'converged', 'unproven')),
  reasons       TEXT NOT NULL DEFAULT '[]',        -- JSON array: why the scan is not proven
  certificate   TEXT,                              -- JSON: what the proof rests on, passes, distinct ids, total, notes, holes
  error_code    TEXT,
  error         TEXT,
  resumed_from  INTEGER REFERENCES runs (id),      -- the interrupted run whose windows it went on from
  read_before   INTEGER NOT NULL DEFAULT 0,        -- customers read by the interrupted runs that it went on from
  trusted_pages INTEGER,                           -- pages that a quick run trusted without reading them; NULL in other runs
  requests      INTEGER NOT NULL DEFAULT 0,
  pages         INTEGER NOT NULL DEFAULT 0,
  received      INTEGER NOT NULL DEFAULT 0,        -- inserted + updated + unchanged + duplicates + rejected + suppressed
  inserted      INTEGER NOT NULL DEFAULT 0,
  updated       INTEGER NOT NULL DEFAULT 0,
  unchanged     INTEGER NOT NULL DEFAULT 0,
  duplicates    INTEGER NOT NULL DEFAULT 0,
  rejected      INTEGER NOT NULL DEFAULT 0,
  suppressed    INTEGER NOT NULL DEFAULT 0,        -- records of forgotten customers
  missing       INTEGER NOT NULL DEFAULT 0,
  removed       INTEGER NOT NULL DEFAULT 0,
  returned      INTEGER NOT NULL DEFAULT 0,
  held          INTEGER NOT NULL DEFAULT 0,
  throttled     INTEGER NOT NULL DEFAULT 0,
  waited_ms     INTEGER NOT NULL DEFAULT 0,
  warnings      TEXT NOT NULL DEFAULT '{}'         -- JSON object: kind of oddity -> how often it was kept
);
CREATE INDEX runs_by_organization ON runs (organization, id);
-- Between two nights there may be a hundred quick runs. Freshness and history look for the last complete run, and pages and metrics for
-- the last full one.
CREATE INDEX complete_runs ON runs (organization, id) WHERE status = 'complete';
CREATE INDEX full_runs ON runs (organization, id) WHERE trusted_pages IS NULL;

-- Public: one row for each customer that was ever listed. The documented fields are exactly as sent; missing and null are both NULL.
CREATE TABLE customers (
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
  missing_since  DATETIME,                         -- when the customer was first found absent
  removed_at     DATETIME,                         -- absent often enough to be taken as no longer active
  last_run_id    INTEGER NOT NULL REFERENCES runs (id),
  updated_at     DATETIME NOT NULL,                -- the last visible change of the row; see last_update
  is_active      BOOLEAN NOT NULL DEFAULT 1        -- 0 once it is removed; not generated, which some tools do not show
);
-- The first run of all drops it and makes it again at its end. Indexes for readers are made once a list was read to its end: on email, on
-- language and on updated_at.
CREATE UNIQUE INDEX customers_by_id ON customers (organization, id);
CREATE INDEX customers_not_listed ON customers (organization, missing_since, removed_at)
  WHERE missing_since IS NOT NULL OR removed_at IS NOT NULL;

-- Public: a feed for incremental readers (WHERE seq > ? ORDER BY seq). The first complete run of an organization is its base line and
-- records none.
CREATE TABLE changes (
  seq           INTEGER PRIMARY KEY AUTOINCREMENT,
  run_id        INTEGER NOT NULL REFERENCES runs (id),
  organization  TEXT NOT NULL,
  id            TEXT NOT NULL,
  change        TEXT NOT NULL CHECK (change IN ('added', 'changed', 'removed', 'returned')),
  fields        TEXT,                              -- JSON object: field -> [before, after]
  at            DATETIME NOT NULL,
  missing_since DATETIME                           -- since when a removed customer was absent, as far as it is known
);
CREATE INDEX changes_by_customer ON changes (organization, id);
-- What happened on a day is counted without a look at the changes themselves.
CREATE INDEX changes_by_day ON changes (organization, substr(at, 1, 10), change);

-- Public: received records that are no valid customers, one row for each distinct record for as long as it keeps coming.
CREATE TABLE rejects (
  reject_id     INTEGER PRIMARY KEY,
  run_id        INTEGER NOT NULL REFERENCES runs (id),  -- the run that saw it last
  organization  TEXT NOT NULL,
  record_id     TEXT,                              -- UUID, when one could be read
  record_key    TEXT NOT NULL,                     -- record_id, else a digest of the payload
  page          INTEGER NOT NULL,
  position      INTEGER NOT NULL,                  -- within the page, from 0
  payload       TEXT NOT NULL,                     -- JSON, as received, cut where it is long
  reasons       TEXT NOT NULL,                     -- JSON array of { field, message }
  first_seen_at DATETIME NOT NULL,
  seen_at       DATETIME NOT NULL,
  resolved_at   DATETIME                           -- when it came right, or a complete run no longer received it
);
CREATE UNIQUE INDEX open_rejects ON rejects (organization, record_key) WHERE resolved_at IS NULL;
CREATE INDEX resolved_rejects ON rejects (organization, resolved_at) WHERE resolved_at IS NOT NULL;

-- Public: what retention has deleted of an organization, so since when changes and history are complete.
CREATE TABLE horizons (
  organization   TEXT NOT NULL PRIMARY KEY,
  pruned_seq     INTEGER NOT NULL DEFAULT 0,       -- its changes up to this number are deleted, or are being deleted
  feed_seq       INTEGER NOT NULL DEFAULT 0,       -- a reader of changes who has read less than this needs a new copy
  history_from   DATETIME,                         -- its history and daily counts begin here; NULL: at its first complete run
  customers_from DATETIME                          -- customers removed before this are deleted; NULL: none
);

-- Public: what each public table and column holds. The program writes it when it opens the mirror.
CREATE TABLE dictionary (
  "table"  TEXT NOT NULL,
  "column" TEXT NOT NULL,
  type     TEXT NOT NULL,
  meaning  TEXT NOT NULL,
  source   TEXT NOT NULL,                          -- service | mirror
  nullable BOOLEAN NOT NULL,
  personal BOOLEAN NOT NULL,                       -- may hold personal data of a customer
  PRIMARY KEY ("table", "column")
);

-- All tables from here on are internal.

-- One writer an organization, by the monotonic clock of its machine where both have the same: setting the wall clock ends no lease.
CREATE TABLE leases (
  organization         TEXT PRIMARY KEY,
  run_id               INTEGER NOT NULL REFERENCES runs (id),
  holder               TEXT NOT NULL,              -- which process on which machine
  expires_at_ms        INTEGER NOT NULL,
  boot                 TEXT,                       -- the start of the machine from which the monotonic clock counts
  expires_monotonic_ms INTEGER
);

-- The greatest updated_at there is, in one row. Each transaction takes a later one under the write lock, so a reader that has seen it
-- misses nothing with WHERE updated_at > ?.
CREATE TABLE last_update (
  id         INTEGER PRIMARY KEY CHECK (id = 1),
  updated_at DATETIME NOT NULL
);
INSERT INTO last_update (id, updated_at) VALUES (1, '1970-01-01 00:00:00.000');

-- In how many scans in a row a customer was absent: proven ones, and proven or weaker ones that count. A row for each customer that is
-- missing and not removed.
CREATE TABLE absences (
  organization TEXT NOT NULL,
  row_id       INTEGER PRIMARY KEY REFERENCES customers (row_id),
  proven       INTEGER NOT NULL,
  scans        INTEGER NOT NULL
);

-- Removals that a guard held back, until they are approved or discarded, or their customers are listed again.
CREATE TABLE held_removals (
  organization TEXT NOT NULL,
  row_id       INTEGER PRIMARY KEY REFERENCES customers (row_id),
  run_id       INTEGER NOT NULL REFERENCES runs (id)
);
CREATE INDEX held_removals_by_organization ON held_removals (organization);

-- The windows that a run has read which has not ended well, so that the next run can go on from them.
CREATE TABLE windows (
  run_id     INTEGER NOT NULL REFERENCES runs (id),
  start      INTEGER NOT NULL,                     -- position of its first record, by the size asked for
  size       INTEGER NOT NULL,                     -- as asked for
  per_page   INTEGER NOT NULL,                     -- as served
  total      INTEGER,
  last_page  INTEGER,
  beyond_end BOOLEAN NOT NULL,
  row_ids    BLOB,                                 -- little-endian int32 a record: its row in customers, 0 for a reject, the number of a
                                                   -- forgotten customer below 0; NULL where the window is known from the list
  rejected   TEXT,                                 -- JSON array: the ids of its rejects in order, null where unreadable
  place      INTEGER,                              -- where its customers stand in the list as last read, when it is known
  count      INTEGER,                              -- how many they are
  PRIMARY KEY (run_id, start, size)
) WITHOUT ROWID;

-- The list of an organization as its last complete run read it, and what the program that stored it knows of a record.
CREATE TABLE lists (
  organization TEXT PRIMARY KEY,
  run_id       INTEGER NOT NULL REFERENCES runs (id),
  reader       TEXT NOT NULL,                      -- another program may store the same record in another way
  customers    INTEGER NOT NULL,
  warnings     TEXT NOT NULL,                      -- JSON array: the kinds of oddities, the first is none
  order_facts  TEXT,                               -- JSON: what is known of the order of the list, for the scan of the next run
  later_order  TEXT                                -- JSON: what quick runs have found out about it since
);

-- The customers of a list in order, some thousands a row.
CREATE TABLE list_chunks (
  organization    TEXT NOT NULL,
  chunk           INTEGER NOT NULL,                -- from 0
  row_ids         BLOB NOT NULL,                   -- little-endian uint32 a customer: its row in customers
  fingerprints    BLOB NOT NULL,                   -- little-endian float64 a customer; 0 where its record must be read again
  id_fingerprints BLOB NOT NULL,                   -- little-endian uint32 a customer: the same of its id
  comparisons     BLOB NOT NULL,                   -- a byte a customer: how it compares with the next one; 0 where unknown
  oddities        BLOB NOT NULL,                   -- a byte a customer: which of the warnings
  PRIMARY KEY (organization, chunk)
);

-- The windows of a list that are known by the digest of their records.
CREATE TABLE list_windows (
  organization TEXT NOT NULL,
  number       INTEGER NOT NULL,                   -- from 0
  place        INTEGER NOT NULL,                   -- of its first customer in the list
  count        INTEGER NOT NULL,
  digest       TEXT NOT NULL,                      -- SHA-256 of the bytes of its records
  outline      TEXT NOT NULL,                      -- JSON: its first and last row, and how its rows compare
  PRIMARY KEY (organization, number)
) WITHOUT ROWID;

-- Customers written by hand, or marked by a run without being read, since the list was stored.
CREATE TABLE edited_customers (
  edit         INTEGER PRIMARY KEY AUTOINCREMENT,
  organization TEXT NOT NULL,
  row_id       INTEGER NOT NULL,
  UNIQUE (organization, row_id)
);

-- 128 random bits under which records are fingerprinted, so that no customer can work out a name that gives their record the fingerprint
-- of another one. Made by the program, which has a source of chance fit for it.
CREATE TABLE fingerprint_key (
  id  INTEGER PRIMARY KEY CHECK (id = 1),
  key BLOB NOT NULL CHECK (typeof(key) = 'blob' AND length(key) = 16)
);

-- Which policy the stored values of an organization follow where fields are not stored as sent. No row where none was ever hidden. The key
-- of the hashes is not here; key checks inside the policies show that it is another one.
CREATE TABLE privacy_policies (
  organization TEXT PRIMARY KEY,
  policy       TEXT NOT NULL,                      -- JSON: drop, hash, mixed, keyCheck
  next_policy  TEXT,                               -- the policy to which the stored values are being rewritten; NULL if none
  next_table   TEXT,                               -- how far that is
  next_row     INTEGER,
  unfilled     TEXT NOT NULL DEFAULT '[]',         -- JSON array: fields whose values the next complete reading fills in
  is_unpurged  BOOLEAN NOT NULL DEFAULT 0          -- old values may still stand in free space of the file
);

-- Since when an organization is no longer mirrored, on purpose. Its next run ends that. Readers find it in freshness.
CREATE TABLE retired_organizations (
  organization TEXT PRIMARY KEY,
  retired_at   DATETIME NOT NULL
);

-- Organizations of which the rows are deleted, and bytes may be left in the file.
CREATE TABLE unfinished_forgets (
  organization TEXT PRIMARY KEY
);

-- Random bytes under which the ids of an organization are hashed, made when its first customer is forgotten.
CREATE TABLE forgotten_keys (
  organization TEXT NOT NULL PRIMARY KEY,
  key          BLOB NOT NULL CHECK (typeof(key) = 'blob' AND length(key) = 32)
);

-- Customers that are forgotten: nothing of them stays but a keyed hash of the id, by which a record of theirs is recognized. A key cannot
-- be deleted while there are hashes under it.
CREATE TABLE forgotten (
  number       INTEGER PRIMARY KEY AUTOINCREMENT,
  organization TEXT NOT NULL REFERENCES forgotten_keys (organization) ON UPDATE CASCADE DEFERRABLE INITIALLY DEFERRED,
  hash         TEXT NOT NULL,                      -- HMAC-SHA-256 of the id in lower case, base64url
  forgotten_at DATETIME NOT NULL,
  UNIQUE (organization, hash)
);

-- Up to which day the runs of an organization were looked through for those to delete.
CREATE TABLE pruned_runs (
  organization TEXT NOT NULL PRIMARY KEY,
  before_day   TEXT NOT NULL
);

-- A customer changed or deleted by hand is repaired by the next run, because its record is compared again then. No column is named, so a
-- new one needs no new trigger.
CREATE TRIGGER customers_edited AFTER UPDATE ON customers
WHEN NEW.last_run_id = OLD.last_run_id
  OR NEW.last_run_id IS NOT (SELECT run_id FROM leases WHERE organization = NEW.organization)
BEGIN
  REPLACE INTO edited_customers (organization, row_id)
    VALUES (OLD.organization, OLD.row_id), (NEW.organization, NEW.row_id);
END;
CREATE TRIGGER customers_deleted AFTER DELETE ON customers
BEGIN
  REPLACE INTO edited_customers (organization, row_id) VALUES (OLD.organization, OLD.row_id);
  DELETE FROM absences WHERE row_id = OLD.row_id;
  -- Or the approval would one day remove the customer who has the number then.
  DELETE FROM held_removals WHERE row_id = OLD.row_id;
END;

-- A customer removed by hand is inactive too.
CREATE TRIGGER customers_removed AFTER UPDATE OF removed_at ON customers
WHEN NEW.is_active IS NOT (NEW.removed_at IS NULL)
BEGIN
  UPDATE customers SET is_active = (NEW.removed_at IS NULL) WHERE row_id = NEW.row_id;
END;

CREATE VIEW active_customers AS
SELECT organization, id, name, username, email, phone, address, company_name, language, timezone, created_at, created_at_utc,
  extra, first_seen_at, changed_at, missing_since, removed_at, last_run_id, updated_at, is_active
FROM customers WHERE removed_at IS NULL;

-- How current the rows of each organization are, in dates that each are the start of a scan. The organizations are found by one seek each,
-- not from every run.
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
  whole.read_as_of,
  CAST(ROUND((julianday('now') - julianday(whole.read_as_of)) * 86400) AS INTEGER) AS read_age_seconds,
  proven.read_as_of AS proven_as_of,
  CAST(ROUND((julianday('now') - julianday(proven.read_as_of)) * 86400) AS INTEGER) AS proven_age_seconds,
  whole.proof,
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
  CAST((SELECT COUNT(*) FROM held_removals WHERE held_removals.organization = organizations.organization) AS INTEGER)
    AS held,
  retired.retired_at
FROM organizations
JOIN runs AS last ON last.id = (SELECT MAX(id) FROM runs WHERE runs.organization = organizations.organization)
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

-- Each customer as it was: a row for every version, from the change that opened it to the one that closed it. A version that is open is
-- the row in customers. What a version held is what the next change of that field found there, or else what the customer holds now: the
-- changes of a customer are read once, and the next change of a field is the least, by its number in 20 digits, of those that follow. The
-- last run before a change that proved what its configuration asks for saw the old value, so the change happened after the scan of that run
-- began. A customer who has not changed since history_from has one version, which begins there. Changes of a customer who was deleted have
-- '{ }' as their fields: the id may come back, as another life. Without the arrows for JSON, and without hints: an SQLite that cannot parse
-- one view opens no table of the file, and that of some systems is older than both.
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
  (SELECT read_as_of FROM runs
    WHERE runs.organization = versions.organization AND runs.id < opened.run_id AND status = 'complete'
      AND (proof <> 'unproven' OR reasons = '["plain-scan"]')
    ORDER BY runs.id DESC LIMIT 1) AS valid_from_after,
  (SELECT read_as_of FROM runs
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

-- What became of the customers of an organization on each day (UTC), from the day of its first complete run, or of history_from, to that
-- of its last run or change. At the end of the last day the active customers are those of now; the changes lead back from there to the
-- first day, and the customers that are left were added then, or before it. added: new or returned customers, so that active = active of
-- the day before + added - removed.
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
