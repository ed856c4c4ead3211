-- What is known of the order of a list, for the scan of the next run. Internal, as the rest of the list.
ALTER TABLE lists ADD COLUMN order_facts TEXT;   -- JSON object; a key that is absent is unknown, and so is all of it where NULL
