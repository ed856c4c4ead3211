-- What quick runs have found out about the order of a list since it was read, as JSON; NULL until one has. Internal.
ALTER TABLE lists ADD COLUMN later_order TEXT;
