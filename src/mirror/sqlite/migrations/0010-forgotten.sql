-- Customers that are forgotten: nothing of them stays but a keyed hash of the id, by which a record of theirs is recognized.

-- Random bytes under which the ids of an organization are hashed, made when its first customer is forgotten. Internal.
CREATE TABLE forgotten_keys (
  organization TEXT NOT NULL PRIMARY KEY,
  key          BLOB NOT NULL CHECK (typeof(key) = 'blob' AND length(key) = 32)
);

-- A key cannot be deleted while there are hashes under it. In the windows of interrupted runs a forgotten customer stands as its
-- number below 0. Internal.
CREATE TABLE forgotten (
  number       INTEGER PRIMARY KEY AUTOINCREMENT,
  organization TEXT NOT NULL REFERENCES forgotten_keys (organization) ON UPDATE CASCADE DEFERRABLE INITIALLY DEFERRED,
  hash         TEXT NOT NULL,                      -- HMAC-SHA-256 of the id in lower case, base64url
  forgotten_at DATETIME NOT NULL,
  UNIQUE (organization, hash)
);

-- Records of forgotten customers.
ALTER TABLE runs ADD COLUMN suppressed INTEGER NOT NULL DEFAULT 0;
