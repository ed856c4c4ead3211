-- Fields that are not stored as sent: which policy the stored values of an organization follow. No row where none was ever hidden.
-- The key of the hashes is not here; key checks inside the policies show that it is another one. Internal.
CREATE TABLE privacy_policies (
  organization TEXT PRIMARY KEY,
  policy       TEXT NOT NULL,                      -- JSON: drop, hash, mixed, keyCheck
  next_policy  TEXT,                               -- the policy to which the stored values are being rewritten; NULL if none
  next_table   TEXT,                               -- how far that is
  next_row     INTEGER,
  unfilled     TEXT NOT NULL DEFAULT '[]',         -- JSON array: fields whose values the next complete reading fills in
  is_unpurged  BOOLEAN NOT NULL DEFAULT 0          -- old values may still stand in free space of the file
);
