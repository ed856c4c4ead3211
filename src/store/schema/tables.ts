import { TEXT_FIELDS } from '../../model/customer.ts'
import type { Words } from './words.ts'

/**
 * Every table of a mirror, once for both databases. The public ones come first: `public-tables.ts` says what they and their columns hold,
 * as `dictionary` does in the mirror itself. Times are UTC: text with milliseconds in a file, where they compare with datetime('now'), and
 * true times on a server. Rows refer to each other without foreign keys, so that tables on a server can be partitioned by organization.
 */
export const tables = (w: Words): string => `
CREATE TABLE runs (
  id            ${w.id},
  organization  ${w.name} NOT NULL,
  "trigger"     TEXT NOT NULL,                   -- sync | schedule | manual | catch-up
  started_at    ${w.time} NOT NULL,
  finished_at   ${w.time},                       -- never before started_at
  duration_ms   ${w.number},                     -- by a clock that nothing sets
  read_as_of    ${w.time} NOT NULL,              -- start of the scan; of one that was resumed, that of its first part
  status        TEXT NOT NULL CHECK (status IN ('running', 'complete', 'failed', 'interrupted', 'waiting', 'partial')),
  proof         TEXT NOT NULL DEFAULT 'unproven' CHECK (proof IN ('proven', 'settled', 'unproven')),
  reasons       ${w.json} NOT NULL DEFAULT '[]', -- JSON array: why the scan is not proven
  certificate   ${w.json},                       -- JSON: what the proof rests on, distinct ids, total, holes, fields that changed
  error_code    TEXT,
  error         TEXT,
  shape_accepted_at ${w.time},                   -- when a person accepted the shape of the data that this run found changed
  resumed_from  ${w.number},                     -- the interrupted run whose windows it went on from
  read_before   ${w.number} NOT NULL DEFAULT 0,  -- customers read by the interrupted runs that it went on from
  trusted_pages ${w.number},                     -- pages that a partial run trusted without reading them; NULL in other runs
  requests      ${w.number} NOT NULL DEFAULT 0,
  pages         ${w.number} NOT NULL DEFAULT 0,
  received      ${w.number} NOT NULL DEFAULT 0,  -- inserted + updated + unchanged + duplicates + rejected + suppressed
  inserted      ${w.number} NOT NULL DEFAULT 0,
  updated       ${w.number} NOT NULL DEFAULT 0,
  unchanged     ${w.number} NOT NULL DEFAULT 0,
  duplicates    ${w.number} NOT NULL DEFAULT 0,
  rejected      ${w.number} NOT NULL DEFAULT 0,
  suppressed    ${w.number} NOT NULL DEFAULT 0,  -- records of forgotten customers
  missing       ${w.number} NOT NULL DEFAULT 0,
  removed       ${w.number} NOT NULL DEFAULT 0,
  returned      ${w.number} NOT NULL DEFAULT 0,
  held          ${w.number} NOT NULL DEFAULT 0,
  searches_refused ${w.number} NOT NULL DEFAULT 0,
  throttled     ${w.number} NOT NULL DEFAULT 0,
  waited_ms     ${w.number} NOT NULL DEFAULT 0,
  warnings      ${w.json} NOT NULL DEFAULT '{}'  -- JSON object: kind of oddity -> how often it was kept
);
CREATE INDEX runs_by_organization ON runs (organization, id);
-- Between two nights there may be a hundred partial runs. Freshness and history look for the last complete run, and pages and metrics for
-- the last full one.
CREATE INDEX complete_runs ON runs (organization, id) WHERE status = 'complete';
CREATE INDEX full_runs ON runs (organization, id) WHERE trusted_pages IS NULL;

CREATE TABLE customers (
  ${w.rowId}
  organization   ${w.name} NOT NULL,
  id             ${w.name} NOT NULL,             -- UUID, lower case
  ${TEXT_FIELDS.map((field) => `${field.padEnd(14)} TEXT,`).join('\n  ')}
  created_at_utc ${w.time},                      -- NULL when created_at cannot be read
  extra          ${w.json},                      -- JSON object of fields the specification does not know
  first_seen_at  ${w.time} NOT NULL,
  changed_at     ${w.time} NOT NULL,
  missing_since  ${w.time},                      -- when the customer was first found absent
  removed_at     ${w.time},                      -- absent often enough to be taken as no longer active
  last_run_id    ${w.number} NOT NULL,
  updated_at     ${w.time} NOT NULL,             -- the last visible change of the row; see last_update
  ${w.isActive}
);
-- The first run of all drops it and makes it again at its end. Indexes for readers are made once a list was read to its end: on email, on
-- language and on updated_at.
CREATE UNIQUE INDEX customers_by_id ON customers (organization, id);
CREATE INDEX customers_not_listed ON customers (organization, missing_since, removed_at)
  WHERE missing_since IS NOT NULL OR removed_at IS NOT NULL;

CREATE TABLE changes (
  seq           ${w.id},
  run_id        ${w.number} NOT NULL,
  organization  ${w.name} NOT NULL,
  id            ${w.name} NOT NULL,
  change        TEXT NOT NULL CHECK (change IN ('added', 'changed', 'removed', 'returned')),
  fields        ${w.json},                       -- JSON object: field -> [before, after]
  changed_at    ${w.time} NOT NULL,
  missing_since ${w.time}                        -- since when a removed customer was absent, as far as it is known
);
CREATE INDEX changes_by_customer ON changes (organization, id${w.thenSeq});
-- What happened on a day is counted without a look at the changes themselves.
CREATE INDEX changes_by_day ON changes (organization, ${w.indexedDay}, change${w.thenSeq});

-- One row for each distinct record for as long as it keeps coming.
CREATE TABLE rejects (
  reject_id     ${w.id},
  run_id        ${w.number} NOT NULL,            -- the run that saw it last
  organization  ${w.name} NOT NULL,
  record_id     ${w.name},                       -- UUID, when one could be read
  record_key    ${w.name} NOT NULL,              -- record_id, else a digest of the payload
  page          ${w.number} NOT NULL,
  position      ${w.number} NOT NULL,            -- within the page, from 0
  payload       TEXT NOT NULL,                   -- JSON, as received, cut where it is long
  reasons       ${w.json} NOT NULL,              -- JSON array of { field, message }
  first_seen_at ${w.time} NOT NULL,
  seen_at       ${w.time} NOT NULL,
  resolved_at   ${w.time}                        -- when it came right, or a run that read the whole list no longer received it
);
CREATE UNIQUE INDEX open_rejects ON rejects (organization, record_key) WHERE resolved_at IS NULL;
CREATE INDEX resolved_rejects ON rejects (organization, resolved_at) WHERE resolved_at IS NOT NULL;

CREATE TABLE horizons (
  organization   ${w.name} PRIMARY KEY NOT NULL,
  pruned_seq     ${w.number} NOT NULL DEFAULT 0, -- its changes up to this number are deleted, or are being deleted
  feed_seq       ${w.number} NOT NULL DEFAULT 0, -- a reader of changes who has read less than this needs a new copy
  history_from   ${w.time},                      -- its history and daily counts begin here; NULL: at its first complete run
  customers_from ${w.time}                       -- customers removed before this are deleted; NULL: none
);

CREATE TABLE dictionary (
  table_name  TEXT NOT NULL,
  column_name TEXT NOT NULL,
  type        TEXT NOT NULL,
  meaning     TEXT NOT NULL,
  source      TEXT NOT NULL,                     -- service | mirror
  nullable    ${w.truth} NOT NULL,
  personal    ${w.truth} NOT NULL,               -- may hold personal data of a customer
  PRIMARY KEY (table_name, column_name)
);

-- All tables from here on are internal.

-- One writer an organization. Its row is the fence: every transaction of a run takes it first. In PostgreSQL by the clock of the server; in a
-- file by the monotonic clock of the machine where both have the same, so that setting the wall clock ends no lease.
CREATE TABLE leases (
  organization         ${w.name} PRIMARY KEY,
  run_id               ${w.number} NOT NULL,
  holder               TEXT NOT NULL,            -- which process on which machine
  expires_at_ms        ${w.number} NOT NULL,
  boot                 TEXT,                     -- the start of the machine from which the monotonic clock counts
  expires_monotonic_ms ${w.number}
);

-- The greatest updated_at there is, in one row, which a transaction that takes a later one locks until it ends. So transactions commit in
-- the order of their stamps, and of changes.seq: a reader that has seen the greatest one misses nothing with WHERE updated_at > ?.
CREATE TABLE last_update (
  id         ${w.integer} PRIMARY KEY CHECK (id = 1),
  updated_at ${w.time} NOT NULL
);
INSERT INTO last_update (id, updated_at) VALUES (1, '1970-01-01 00:00:00.000');

-- In how many scans in a row a customer was absent: proven ones, proven and settled ones, and these with unproven ones that came to the end
-- of the list. A row for each customer that is missing and not removed.
CREATE TABLE absences (
  organization ${w.name} NOT NULL,
  row_id       ${w.number} NOT NULL,
  proven       ${w.integer} NOT NULL,
  scans        ${w.integer} NOT NULL,
  whole        ${w.integer} NOT NULL,
  PRIMARY KEY (organization, row_id)
)${w.clustered};

-- Removals that a guard held back, until they are approved, or their customers are listed again. Discarded ones wait for no decision.
CREATE TABLE held_rows (
  organization ${w.name} NOT NULL,
  row_id       ${w.number} NOT NULL,
  run_id       ${w.number} NOT NULL,
  absent_since ${w.time} NOT NULL,               -- start of the first scan that held the removal back
  discarded    ${w.integer} NOT NULL DEFAULT 0,
  PRIMARY KEY (organization, row_id)
)${w.clustered};

-- The windows that a run has read which has not ended well, so that the next run can go on from them.
CREATE TABLE windows (
  run_id     ${w.number} NOT NULL,
  start      ${w.number} NOT NULL,               -- position of its first record, by the size asked for
  size       ${w.integer} NOT NULL,              -- as asked for
  per_page   ${w.integer} NOT NULL,              -- as served
  total      ${w.number},
  beyond_end ${w.truth} NOT NULL,
  row_ids    ${w.bytes} NOT NULL,                -- little-endian int32 a record: its row in customers, 0 for a reject, the number of a
                                                   -- forgotten customer below 0
  rejected   TEXT NOT NULL,                      -- JSON array: the ids of its rejects in order, null where unreadable
  PRIMARY KEY (run_id, start, size)
)${w.clustered};

-- The list of an organization as its last complete run read it, and what the program that stored it knows of a record.
CREATE TABLE lists (
  organization ${w.name} PRIMARY KEY,
  run_id       ${w.number} NOT NULL,
  reader       TEXT NOT NULL,                    -- another program may store the same record in another way
  facts        TEXT NOT NULL,                    -- JSON: customers, how many; warnings, whose first kind is none; total, cappedAt
  later_rows   ${w.bytes},                       -- as row_ids: the order since then, as far as partial runs know it; 0 for a record without a customer
  pending_rows ${w.bytes}                        -- as row_ids: customers that left their places, while it is unknown whether they stand elsewhere
);

-- What a list says of each customer, in 18 bytes; 10,000 of them in a part, and fewer in the last one: a row is held in memory whole.
CREATE TABLE list_columns (
  organization ${w.name} NOT NULL,
  part         ${w.number} NOT NULL,             -- 0 for those at the beginning of the list
  row_ids      ${w.bytes} NOT NULL,              -- little-endian uint32 a customer, in list order: its row in customers
  fingerprints ${w.bytes} NOT NULL,              -- float64 a customer: that of the record, 0 where it must be read again
  id_prints    ${w.bytes} NOT NULL,              -- uint32 a customer: the fingerprint of its id
  comparisons  ${w.bytes} NOT NULL,              -- a byte a customer: how it compares with the next one, 0 where unknown
  oddities     ${w.bytes} NOT NULL,              -- a byte a customer: which of the warnings in facts
  PRIMARY KEY (organization, part)
);

-- Customers written by hand, or marked by a run without being read, since the list was stored.
CREATE TABLE edited_customers (
  edit         ${w.id},
  organization ${w.name} NOT NULL,
  row_id       ${w.number} NOT NULL,
  UNIQUE (organization, row_id)
);

-- 128 random bits under which records are fingerprinted, made by the program, which has a source of chance fit for it.
CREATE TABLE fingerprint_key (
  id  ${w.integer} PRIMARY KEY CHECK (id = 1),
  key ${w.bytes} NOT NULL CHECK (${w.isBytes}length(key) = 16)
);

-- Which policy the stored values of an organization follow where fields are not stored as sent. No row where none was ever hidden. The key
-- of the hashes is not here; key checks inside the policies show that it is another one.
CREATE TABLE privacy_policies (
  organization ${w.name} PRIMARY KEY,
  policy       TEXT NOT NULL,                    -- JSON: drop, hash, mixed, keyCheck
  next_policy  TEXT,                             -- the policy to which the stored values are being rewritten; NULL if none
  next_table   TEXT,                             -- how far that is
  next_row     ${w.number},
  unfilled     TEXT NOT NULL DEFAULT '[]',       -- JSON array: fields whose values the next complete reading fills in
  is_unpurged  ${w.truth} NOT NULL DEFAULT ${w.no}     -- old values may still stand in free space of the file
);

-- Since when an organization is no longer mirrored, on purpose. Its next run ends that. Readers find it in freshness.
CREATE TABLE retired_organizations (
  organization ${w.name} PRIMARY KEY,
  retired_at   ${w.time} NOT NULL
);

-- Organizations of which the rows are deleted, and bytes may be left in the file.
CREATE TABLE unfinished_forgets (
  organization ${w.name} PRIMARY KEY
);

-- Random bytes under which the ids of an organization are hashed, made when its first customer is forgotten.
CREATE TABLE forgotten_keys (
  organization ${w.name} PRIMARY KEY NOT NULL,
  key          ${w.bytes} NOT NULL CHECK (${w.isBytes}length(key) = 32)
);

-- Customers that are forgotten: nothing of them stays but a keyed hash of the id, by which a record of theirs is recognized. A key cannot
-- be deleted while there are hashes under it.
CREATE TABLE forgotten (
  number       ${w.id},
  organization ${w.name} NOT NULL REFERENCES forgotten_keys (organization) ON UPDATE CASCADE DEFERRABLE INITIALLY DEFERRED,
  hash         ${w.name} NOT NULL,               -- HMAC-SHA-256 of the id in lower case, base64url
  forgotten_at ${w.time} NOT NULL,
  UNIQUE (organization, hash)
);
`

/** Rows that were edited without the mirror, or deleted: the next run compares them field by field. */
export const SQLITE_TRIGGERS = `
-- Has a row in transactions in which what changes in customers is not noted as an edit by hand.
CREATE TABLE unnoticed (id INTEGER PRIMARY KEY);
CREATE TRIGGER customers_edited AFTER UPDATE ON customers
WHEN (NEW.last_run_id = OLD.last_run_id OR NEW.last_run_id IS NOT (SELECT run_id FROM leases WHERE organization = NEW.organization))
  AND NEW.is_active IS OLD.is_active AND NOT EXISTS (SELECT 1 FROM unnoticed)
BEGIN
  REPLACE INTO edited_customers (organization, row_id) VALUES (OLD.organization, OLD.row_id), (NEW.organization, NEW.row_id);
END;
CREATE TRIGGER customers_removed AFTER UPDATE OF removed_at ON customers
WHEN NEW.is_active IS NOT (NEW.removed_at IS NULL)
BEGIN
  UPDATE customers SET is_active = (NEW.removed_at IS NULL) WHERE row_id = NEW.row_id;
END;
CREATE TRIGGER customers_deleted AFTER DELETE ON customers WHEN NOT EXISTS (SELECT 1 FROM unnoticed)
BEGIN
  REPLACE INTO edited_customers (organization, row_id) VALUES (OLD.organization, OLD.row_id);
  DELETE FROM absences WHERE row_id = OLD.row_id AND organization = OLD.organization;
  DELETE FROM held_rows WHERE row_id = OLD.row_id AND organization = OLD.organization;
END;
`

/** The same for PostgreSQL, for all rows of a statement at once. They find names in pg_catalog alone. */
export const POSTGRES_TRIGGERS = String.raw`
CREATE FUNCTION note_edited() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  -- By the mirror itself, which changes a whole organization in this transaction.
  IF current_setting('customer_mirror.unnoticed', true) = 'on' THEN RETURN NULL; END IF;
  EXECUTE format(
    'INSERT INTO %1$I.edited_customers (organization, row_id)
     SELECT organization, row_id FROM old FULL JOIN new USING (organization, row_id) LEFT JOIN %1$I.leases USING (organization)
     WHERE old.last_run_id IS NULL OR new.last_run_id IS NULL OR new.last_run_id = old.last_run_id
       OR new.last_run_id IS DISTINCT FROM leases.run_id
     ON CONFLICT (organization, row_id) DO UPDATE SET edit = EXCLUDED.edit', TG_TABLE_SCHEMA);
  RETURN NULL;
END $$;
CREATE TRIGGER customers_edited AFTER UPDATE ON customers
  REFERENCING OLD TABLE AS old NEW TABLE AS new FOR EACH STATEMENT EXECUTE FUNCTION note_edited();

CREATE FUNCTION note_deleted() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF current_setting('customer_mirror.unnoticed', true) = 'on' THEN RETURN NULL; END IF;
  EXECUTE format(
    'INSERT INTO %1$I.edited_customers (organization, row_id) SELECT organization, row_id FROM old
     ON CONFLICT (organization, row_id) DO UPDATE SET edit = EXCLUDED.edit', TG_TABLE_SCHEMA);
  EXECUTE format(
    'DELETE FROM %1$I.absences USING old WHERE absences.organization = old.organization AND absences.row_id = old.row_id',
    TG_TABLE_SCHEMA);
  -- Or the approval would one day remove the customer who has the number then.
  EXECUTE format(
    'DELETE FROM %1$I.held_rows USING old
     WHERE held_rows.organization = old.organization AND held_rows.row_id = old.row_id',
    TG_TABLE_SCHEMA);
  RETURN NULL;
END $$;
CREATE TRIGGER customers_deleted AFTER DELETE ON customers
  REFERENCING OLD TABLE AS old FOR EACH STATEMENT EXECUTE FUNCTION note_deleted();

-- Row numbers begin at 1 again, so nothing may refer to the rows that were there, and a run under way must not go on.
CREATE FUNCTION note_truncated() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE referring text;
BEGIN
  FOREACH referring IN ARRAY ARRAY['leases', 'lists', 'list_columns', 'windows', 'absences', 'held_rows', 'edited_customers'] LOOP
    EXECUTE format('DELETE FROM %I.%I', TG_TABLE_SCHEMA, referring);
  END LOOP;
  RETURN NULL;
END $$;
CREATE TRIGGER customers_truncated AFTER TRUNCATE ON customers FOR EACH STATEMENT EXECUTE FUNCTION note_truncated();
`
