-- Logical replication finds the rows of a table by its primary key. Those of a published table without one cannot be changed, and a new
-- version of this program changes rows of the dictionary.
ALTER TABLE dictionary
  DROP CONSTRAINT IF EXISTS dictionary_table_column_key,
  DROP CONSTRAINT IF EXISTS dictionary_pkey,
  ADD PRIMARY KEY ("table", "column");
