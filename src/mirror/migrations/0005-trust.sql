-- Freshness in two grades, removals that were searched for, and a keyed fingerprint.

-- How long a run took, by a clock that nothing sets; NULL for runs before this. finished_at is never before started_at.
ALTER TABLE runs ADD COLUMN duration_ms INTEGER;

-- The end of a lease by the machine's monotonic clock, and the start of the machine that clock counts from: setting the wall
-- clock ends no lease of a run on this machine, and prolongs none.
ALTER TABLE leases ADD COLUMN boot TEXT;
ALTER TABLE leases ADD COLUMN expires_monotonic_ms INTEGER;
