-- What a role that may create in public can lie in wait with there: under the name of each function, operator, table and type of
-- PostgreSQL one of its own, which fails with 'lay in wait'. A statement that looks into public first meets them; so does one that
-- looks into pg_catalog first where its arguments fit these better.
SET search_path = pg_catalog;
CREATE FUNCTION public.lay_in_wait() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'something of another role lay in wait, and ran as %', current_user;
END $$;

DO $do$
DECLARE found record;
BEGIN
  FOR found IN
    SELECT format('FUNCTION public.%I(%s) RETURNS %s%s LANGUAGE plpgsql AS %L', proname, oidvectortypes(proargtypes),
      CASE WHEN proretset THEN 'SETOF ' ELSE '' END, format_type(prorettype, NULL),
      'BEGIN PERFORM public.lay_in_wait(); END') AS made
    FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace
      AND NOT ARRAY['internal', 'cstring', '"any"']::regtype[] && (proargtypes::oid[] || prorettype)::regtype[]
      AND proname NOT LIKE 'binary_upgrade%'
    UNION ALL
    SELECT format('FUNCTION public.%s RETURNS %s LANGUAGE plpgsql AS %L', head, answer, 'BEGIN PERFORM public.lay_in_wait(); END')
    FROM (VALUES ('format(text, name)', 'text'), ('unnest(text[])', 'SETOF text'), ('concat_ws(text, text, text)', 'text'),
      ('has_database_privilege(name, text)', 'boolean'), ('has_table_privilege(oid, text)', 'boolean'),
      ('array_agg(text)', 'text[]'), ('json_build_object(text, text)', 'json')) AS fitting (head, answer)
    UNION ALL
    SELECT format('OPERATOR public.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = public.%I)', oprname, oprleft::regtype,
      oprright::regtype, proname)
    FROM pg_operator JOIN pg_proc ON pg_proc.oid = oprcode WHERE oprkind = 'b' AND oprnamespace = 'pg_catalog'::regnamespace
    UNION ALL
    SELECT format('VIEW public.%I AS SELECT public.lay_in_wait()', relname) FROM pg_class
    WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind IN ('r', 'v')
    UNION ALL
    SELECT format('TYPE public.%I AS ENUM ()', name)
    FROM unnest(ARRAY['text', 'name', 'oid', 'regtype', 'regclass', 'xid', 'xid8', 'json', 'date', 'bytea']) AS name
  LOOP
    BEGIN
      EXECUTE 'CREATE ' || found.made;
    EXCEPTION WHEN OTHERS THEN
      NULL;  -- Some, such as those of pseudo-types, can only be written in C.
    END;
  END LOOP;
END $do$;
RESET search_path;
