-- Splits customers of a mirror in PostgreSQL into 16 partitions by organization: its rows, with their indexes, triggers, views and
-- rights, in one transaction. Stop the worker first. As the owner of the mirror, with its schema in the search path:
--   PGOPTIONS='-c search_path=customer_mirror' psql -v ON_ERROR_STOP=1 -f partition-customers.sql postgres://mirror@db.example.com/customers
-- Names stay, and the program goes on as before. For another number of partitions change the 16.
DO $$
DECLARE
  partitions CONSTANT integer := 16;
  columns text;
  again text[];
  gone text[];
  line text;
BEGIN
  IF to_regclass(format('%I.mirror_schema', current_schema())) IS NULL THEN
    RAISE EXCEPTION 'there is no mirror in the first schema of the search path: %', current_setting('search_path');
  ELSIF (SELECT relkind FROM pg_class WHERE oid = 'customers'::regclass) = 'p' THEN
    RAISE EXCEPTION 'customers is in partitions already';
  END IF;
  LOCK TABLE customers IN ACCESS EXCLUSIVE MODE;

  SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) INTO columns FROM pg_attribute
  WHERE attrelid = 'customers'::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '';

  -- What is dropped with the old table, in the order in which it is made again.
  WITH views AS (
    SELECT DISTINCT pg_class.oid, relacl, relowner FROM pg_depend
    JOIN pg_rewrite ON pg_rewrite.oid = objid JOIN pg_class ON pg_class.oid = ev_class
    WHERE refobjid = 'customers'::regclass AND classid = 'pg_rewrite'::regclass
  ), made (step, number, sql) AS (
    SELECT 1, oid, format('ALTER TABLE customers ADD CONSTRAINT %I %s', conname, pg_get_constraintdef(oid))
    FROM pg_constraint WHERE conrelid = 'customers'::regclass AND contype IN ('p', 'u', 'c')
    UNION ALL
    SELECT 2, indexrelid, pg_get_indexdef(indexrelid) FROM pg_index
    WHERE indrelid = 'customers'::regclass AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)
    UNION ALL
    SELECT 3, oid, pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'customers'::regclass AND NOT tgisinternal
    UNION ALL
    SELECT 4, oid, format('CREATE VIEW %s AS %s', oid::regclass, pg_get_viewdef(oid)) FROM views
    UNION ALL
    SELECT 5, owned.oid, format('GRANT %s ON %s TO %s', privilege_type, owned.oid::regclass,
      CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END)
    FROM (SELECT * FROM views UNION ALL
      SELECT oid, relacl, relowner FROM pg_class WHERE oid = 'customers'::regclass) AS owned, aclexplode(relacl)
    WHERE grantee <> relowner
  )
  SELECT array_agg(sql ORDER BY step, number), (SELECT array_agg(format('DROP VIEW %s', oid::regclass)) FROM views) INTO again, gone
  FROM made;

  CREATE TABLE customers_in_partitions (LIKE customers INCLUDING DEFAULTS INCLUDING GENERATED INCLUDING COMMENTS)
    PARTITION BY HASH (organization);
  FOR number IN 0 .. partitions - 1 LOOP
    EXECUTE format('CREATE TABLE customers_%s PARTITION OF customers_in_partitions FOR VALUES WITH (MODULUS %s, REMAINDER %s)',
      number, partitions, number);
  END LOOP;
  EXECUTE format('INSERT INTO customers_in_partitions (%1$s) SELECT %1$s FROM customers', columns);
  -- A view over one of these views, which someone added, stops it here: drop it first, and make it again afterwards.
  FOREACH line IN ARRAY gone LOOP
    EXECUTE line;
  END LOOP;
  DROP TABLE customers;
  ALTER TABLE customers_in_partitions RENAME TO customers;
  FOREACH line IN ARRAY again LOOP
    EXECUTE line;
  END LOOP;
  -- A statement on customers fires its own triggers for statements, and one on a partition those of the partition alone.
  FOR line IN
    SELECT overlay(made PLACING inhrelid::regclass::text FROM strpos(made, named) FOR length(named))
    FROM pg_inherits, pg_trigger, pg_get_triggerdef(pg_trigger.oid) AS made,
      format('%I.customers', current_schema()) AS named
    WHERE inhparent = 'customers'::regclass AND tgrelid = inhparent AND tgtype & 1 = 0 AND NOT tgisinternal
  LOOP
    EXECUTE line;
  END LOOP;
  ANALYZE customers;
END $$;
