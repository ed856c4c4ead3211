-- The list as the last complete run read it, in place of single pages. What was remembered before is forgotten: the next run
-- reads every record.

-- Windows of interrupted runs referred to remembered pages for their rows. Those that cannot be resolved are read again.
CREATE TABLE windows_with_rows (
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
INSERT INTO windows_with_rows (run_id, start, size, per_page, total, last_page, beyond_end, row_ids, rejected)
SELECT run_id, windows.start, windows.size, per_page, total, last_page, beyond_end,
  coalesce(windows.row_ids, remembered_pages.row_ids), coalesce(windows.rejected, '[]')
FROM windows JOIN runs ON runs.id = run_id
  LEFT JOIN remembered_pages ON remembered_pages.organization = runs.organization
    AND remembered_pages.start = per_page * (windows.start / windows.size) AND remembered_pages.size = per_page
WHERE coalesce(windows.row_ids, remembered_pages.row_ids) IS NOT NULL;
DROP TABLE windows;
ALTER TABLE windows_with_rows RENAME TO windows;

DROP TRIGGER customers_edited;
DROP TRIGGER customers_deleted;
DROP TABLE remembered_pages;
ALTER TABLE leases DROP COLUMN edits;

-- One row an organization: which run read the list, and what the program that stored it knows of a record. Internal.
CREATE TABLE lists (
  organization TEXT PRIMARY KEY,
  run_id       INTEGER NOT NULL REFERENCES runs (id),
  reader       TEXT NOT NULL,                      -- another program may store the same record in another way
  customers    INTEGER NOT NULL,
  warnings     TEXT NOT NULL                       -- JSON array: the kinds of oddities, the first is none
);

-- The customers of a list in order, some thousands a row. Internal.
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

-- The windows of a list that are known by the digest of their records. Internal.
CREATE TABLE list_windows (
  organization TEXT NOT NULL,
  number       INTEGER NOT NULL,                   -- from 0
  place        INTEGER NOT NULL,                   -- of its first customer in the list
  count        INTEGER NOT NULL,
  digest       TEXT NOT NULL,                      -- SHA-256 of the bytes of its records
  outline      TEXT NOT NULL,                      -- JSON: its first and last row, and how its rows compare
  PRIMARY KEY (organization, number)
) WITHOUT ROWID;

-- Customers written by hand, or marked by a run without being read, since the list was stored. Internal.
CREATE TABLE edited_customers (
  edit         INTEGER PRIMARY KEY AUTOINCREMENT,
  organization TEXT NOT NULL,
  row_id       INTEGER NOT NULL,
  UNIQUE (organization, row_id)
);

-- A customer changed or deleted by hand is mended by the next run, because its record is compared again then. No column is
-- named, so a new one needs no new trigger.
CREATE TRIGGER customers_edited AFTER UPDATE ON customers
WHEN NEW.last_run_id = OLD.last_run_id
  OR NEW.last_run_id IS NOT (SELECT run_id FROM leases WHERE organization = NEW.organization)
BEGIN
  REPLACE INTO edited_customers (organization, row_id) VALUES (OLD.organization, OLD.row_id);
  REPLACE INTO edited_customers (organization, row_id) SELECT NEW.organization, NEW.row_id
    WHERE NEW.row_id <> OLD.row_id OR NEW.organization <> OLD.organization;
END;
CREATE TRIGGER customers_deleted AFTER DELETE ON customers
BEGIN
  REPLACE INTO edited_customers (organization, row_id) VALUES (OLD.organization, OLD.row_id);
END;
