-- Splits customers of a mirror in PostgreSQL into 16 partitions by organization: its rows, with their indexes, triggers, views, rights and
-- row level security, in one transaction. Stop the worker first. As the owner of the mirror, with its schema in the search path:
--   PGOPTIONS='-c search_path=customer_mirror' psql -v ON_ERROR_STOP=1 -f partition-customers.sql postgres://mirror@db.example.com/customers
-- Names stay, and the program goes on as before. Readers have their rights in customers, and none in a partition itself. What cannot
-- be kept is named, and nothing is changed. For another number of partitions change the 16.
DO $$
DECLARE
  partitions CONSTANT integer := 16;
  old pg_class;
  columns text;
  lost text;
  views text[];
  again text[];
  line text;
BEGIN
  IF to_regclass(format('%I.mirror_schema', current_schema())) IS NULL THEN
    RAISE EXCEPTION 'there is no mirror in the first schema of the search path: %', current_setting('search_path');
  END IF;
  LOCK TABLE customers IN ACCESS EXCLUSIVE MODE;
  SELECT * INTO old FROM pg_class WHERE oid = 'customers'::regclass;
  IF old.relkind = 'p' THEN
    RAISE EXCEPTION 'customers is in partitions already';
  ELSIF old.relowner <> current_user::regrole THEN
    RAISE EXCEPTION 'customers belongs to %: run this as that role', old.relowner::regrole;
  END IF;

  SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) INTO columns FROM pg_attribute
  WHERE attrelid = old.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = '';

  -- A view is replaced in its place, with its own rights and what reads it.
  SELECT array_agg(format('CREATE OR REPLACE VIEW %s%s AS %s', oid::regclass,
    ' WITH (' || array_to_string(reloptions, ', ') || ')', pg_get_viewdef(oid)))
  INTO views FROM pg_class
  WHERE relkind = 'v' AND pg_has_role(relowner, 'USAGE') AND oid IN (
    SELECT ev_class FROM pg_depend JOIN pg_rewrite ON pg_rewrite.oid = objid
    WHERE classid = 'pg_rewrite'::regclass AND refclassid = 'pg_class'::regclass AND refobjid = old.oid AND ev_type = '1');

  WITH types AS (
    SELECT oid FROM pg_type WHERE old.reltype IN (oid, typelem)
  ), kept (class, oid) AS (
    SELECT 'pg_rewrite'::regclass, pg_rewrite.oid FROM pg_rewrite JOIN pg_class ON pg_class.oid = ev_class
    WHERE ev_type = '1' AND relkind = 'v' AND pg_has_role(relowner, 'USAGE')
    UNION ALL SELECT 'pg_class'::regclass, indexrelid FROM pg_index WHERE indrelid = old.oid
    UNION ALL SELECT 'pg_class'::regclass, old.reltoastrelid
    UNION ALL SELECT 'pg_type'::regclass, oid FROM types
    UNION ALL SELECT 'pg_attrdef'::regclass, oid FROM pg_attrdef WHERE adrelid = old.oid
    UNION ALL SELECT 'pg_constraint'::regclass, oid FROM pg_constraint WHERE conrelid = old.oid
    UNION ALL SELECT 'pg_trigger'::regclass, oid FROM pg_trigger WHERE tgrelid = old.oid AND tgenabled = 'O'
    UNION ALL SELECT 'pg_policy'::regclass, oid FROM pg_policy WHERE polrelid = old.oid
    UNION ALL SELECT 'pg_statistic_ext'::regclass, oid FROM pg_statistic_ext WHERE stxrelid = old.oid
  )
  SELECT string_agg(DISTINCT what, ', ') INTO lost FROM (
    SELECT replace(pg_describe_object(classid, objid, objsubid), 'rule _RETURN on ', '') FROM pg_depend
    WHERE (refclassid = 'pg_class'::regclass AND refobjid = old.oid
        OR refclassid = 'pg_type'::regclass AND refobjid IN (SELECT oid FROM types))
      AND (classid, objid) NOT IN (SELECT class, oid FROM kept)
    UNION ALL
    SELECT 'security label on ' || pg_describe_object(classoid, objoid, objsubid) FROM pg_seclabel
    WHERE classoid = 'pg_class'::regclass AND objoid = old.oid
  ) AS found (what);
  IF lost IS NOT NULL THEN
    RAISE EXCEPTION 'customers was left as it is, since this would be lost: %', lost
      USING HINT = 'Drop it first, run this script again, and make it anew on the new customers.';
  END IF;

  -- What is dropped with the old table, in the order in which it is made again.
  WITH made (step, number, sql) AS (
    SELECT CASE contype WHEN 'f' THEN 3 ELSE 1 END, oid,
      format('ALTER TABLE customers ADD CONSTRAINT %I %s', conname, pg_get_constraintdef(oid))
    FROM pg_constraint WHERE conrelid = old.oid AND contype NOT IN ('t', 'n')
    UNION ALL
    SELECT 2, indexrelid, pg_get_indexdef(indexrelid) FROM pg_index
    WHERE indrelid = old.oid AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid AND contype <> 'f')
    UNION ALL
    SELECT 3, oid, pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = old.oid AND NOT tgisinternal
    UNION ALL
    SELECT 3, oid, pg_get_statisticsobjdef(oid) FROM pg_statistic_ext WHERE stxrelid = old.oid
    UNION ALL
    SELECT 3, 0, format('COMMENT ON TABLE customers IS %L', obj_description(old.oid, 'pg_class'))
    UNION ALL
    SELECT 4, 0, format('CREATE POLICY %I ON customers AS %s FOR %s TO %s%s%s', policyname, permissive, cmd,
      (SELECT string_agg(quote_ident(name), ', ') FROM unnest(roles) AS name),
      ' USING (' || qual || ')', ' WITH CHECK (' || with_check || ')')
    FROM pg_policies WHERE schemaname = current_schema() AND tablename = 'customers'
    UNION ALL
    SELECT 5, 0, format('GRANT %s%s ON customers TO %s%s', privilege_type, ' (' || quote_ident(attname) || ')',
      CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END,
      CASE WHEN is_grantable THEN ' WITH GRANT OPTION' END)
    FROM (
      SELECT NULL AS attname, granted.* FROM aclexplode(old.relacl) AS granted
      UNION ALL
      SELECT attname, granted.* FROM pg_attribute, aclexplode(attacl) AS granted WHERE attrelid = old.oid AND NOT attisdropped
    ) AS rights
    WHERE grantee <> old.relowner
  )
  SELECT array_agg(sql ORDER BY step, number) INTO again FROM made;

  CREATE TABLE customers_in_partitions (
    LIKE customers INCLUDING DEFAULTS INCLUDING GENERATED INCLUDING COMMENTS INCLUDING STORAGE INCLUDING COMPRESSION
  ) PARTITION BY HASH (organization);
  FOR number IN 0 .. partitions - 1 LOOP
    EXECUTE format('CREATE TABLE customers_%s PARTITION OF customers_in_partitions FOR VALUES WITH (MODULUS %s, REMAINDER %s)%s',
      number, partitions, number, ' WITH (' || array_to_string(old.reloptions, ', ') || ')');
  END LOOP;
  -- Otherwise its policies would hide rows from the owner.
  ALTER TABLE customers NO FORCE ROW LEVEL SECURITY;
  EXECUTE format('INSERT INTO customers_in_partitions (%1$s) SELECT %1$s FROM customers', columns);
  ALTER TABLE customers RENAME TO customers_before;
  ALTER TABLE customers_in_partitions RENAME TO customers;
  FOREACH line IN ARRAY coalesce(views, '{}') LOOP
    EXECUTE line;
  END LOOP;
  DROP TABLE customers_before;

  -- Rights by default, which the old table may not have had. A reader of a partition itself would be held by no policy of customers.
  FOR line IN
    SELECT format('REVOKE ALL ON %s FROM %s', made.oid::regclass,
      CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END)
    FROM pg_class AS made, aclexplode(relacl)
    WHERE made.oid IN (SELECT relid FROM pg_partition_tree('customers')) AND grantee <> relowner
    UNION
    SELECT format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', relid) FROM pg_partition_tree('customers') WHERE old.relrowsecurity
    UNION
    SELECT format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', relid) FROM pg_partition_tree('customers') WHERE old.relforcerowsecurity
  LOOP
    EXECUTE line;
  END LOOP;
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
