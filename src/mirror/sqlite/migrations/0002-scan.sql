-- The proving scan, verified resume, and removals one can trust.

ALTER TABLE runs ADD COLUMN resumed_from INTEGER REFERENCES runs (id);  -- the interrupted run whose windows it went on from
ALTER TABLE runs ADD COLUMN certificate TEXT;  -- JSON: what the proof rests on, passes, distinct ids, total, notes, holes

-- In how many scans in a row a customer was absent: proven ones, and proven or converged ones.
ALTER TABLE customers ADD COLUMN missing_proven INTEGER NOT NULL DEFAULT 0;
ALTER TABLE customers ADD COLUMN missing_scans INTEGER NOT NULL DEFAULT 0;

-- The windows a run that has not ended well has read, so that the next run can go on from them. Internal.
CREATE TABLE windows (
  run_id      INTEGER NOT NULL REFERENCES runs (id),
  page        INTEGER NOT NULL,
  size        INTEGER NOT NULL,                    -- as asked for
  per_page    INTEGER NOT NULL,                    -- as served
  total       INTEGER,
  last_page   INTEGER,
  beyond_end  INTEGER NOT NULL,
  row_ids     BLOB NOT NULL,                       -- little-endian int32 a record: its row in customers, or 0 for a reject
  rejected    TEXT NOT NULL,                       -- JSON array: the ids of its rejects in order, null where unreadable
  PRIMARY KEY (run_id, page, size)
) WITHOUT ROWID;

-- Removals that a guard held back, until they are approved or discarded, or their customers are listed again.
CREATE TABLE held_removals (
  organization TEXT NOT NULL,
  row_id       INTEGER PRIMARY KEY REFERENCES customers (row_id),
  run_id       INTEGER NOT NULL REFERENCES runs (id)
);
CREATE INDEX held_removals_by_organization ON held_removals (organization);
