import type { MirrorCode } from '../../../errors/errors.ts'

export type Meaning = [pattern: RegExp, code: MirrorCode, sentence: string]

export const FULL =
  'the disk of the server is full. Nothing of this step was kept; free some space there, then run the command again.'

export const AGAIN =
  'What was saved before is kept, and the next run continues from there; run any other command again.'

/**
 * What a pooler such as PgBouncer says, as `code: message`. It has one SQLSTATE for nearly all that it refuses, and for what passes, such as
 * too many clients.
 */
const SAID_BY_POOLER: readonly Meaning[] = [
  [
    /^08P01: transaction blocks not allowed in statement pooling mode/,
    'unreadable',
    'the pooler there is in statement mode, in which there are no transactions. Have it use transaction mode (pool_mode), or name the server itself.',
  ],
  [
    /^08P01: unsupported startup parameter.*\boptions\b/,
    'unreadable',
    'the pooler there refuses what the environment variable PGOPTIONS asks for. Unset it.',
  ],
  [
    /^08P01: database ".*" is disabled$/,
    'unreachable',
    `the pooler there opens no connections to this database for now (DISABLE, until ENABLE). ${AGAIN}`,
  ],
  [
    /^08P01: (?:no more connections allowed|query_wait_timeout)/,
    'unreachable',
    `the pooler there has no connection left (max_client_conn, pool_size). ${AGAIN}`,
  ],
  [
    /^08P01: (?:no such (?:database|user)|(?:database|role) "|.*authentication failed)/,
    'unreadable',
    'the pooler there does not lead to this database, or does not let this user in. Correct the address, or the settings of the pooler.',
  ],
]

/** What the server says beside a SQLSTATE that means several things, as `code: message`. The first that fits holds, before MEANINGS. */
export const SAID: readonly Meaning[] = [
  ...SAID_BY_POOLER,
  [
    /^28000: .*, (?:no encryption|SSL off)$/,
    'unreadable',
    'the server does not let this user in without TLS (pg_hba.conf). Add sslmode=require or verify-full to the address, or ask its administrator.',
  ],
  [
    /^28000: connection requires a valid client certificate/,
    'unreadable',
    'the server asks for a certificate of the client (pg_hba.conf), and Customer Mirror shows none. Have this user let in with a password.',
  ],
  [
    /^28000: role /,
    'unreadable',
    'the server has no such user, or one that may not log in. Correct the name of the user in the address, or have it created.',
  ],
  [
    /^42501: query would be affected by row-level security/,
    'unreadable',
    'row level security may hide rows of the mirror from this user. Drop its policy, or use a user who sees every row: one with BYPASSRLS, or the owner of the tables without FORCE ROW LEVEL SECURITY.',
  ],
  [
    /^40001: .*conflict with recovery/,
    'locked',
    'the standby ended the statement, since the primary server removed rows that it was reading. Try again, or set hot_standby_feedback = on there.',
  ],
  [
    /^25006: .* during recovery$/,
    'unreachable',
    `the server has become a standby, which accepts no writes: promote it, or have another one answer at this address. ${AGAIN}`,
  ],
  [/^XX000: could not write init file/, 'full', FULL],
  [
    /^(?:22023: .*"replication"|0A000: .*WAL sender|08P01: .*replication connection)/,
    'unreadable',
    'the environment variable PGREPLICATION asks for a connection that replicates. Unset it.',
  ],
  [
    /^(?:42601: invalid command-line argument|42704: unrecognized configuration parameter)/,
    'unreadable',
    'the server does not know what the environment variable PGOPTIONS asks for. Unset or correct it.',
  ],
  [
    /^55000: .*replica identity/,
    'foreign',
    'a publication of logical replication keeps rows of a table of the mirror from being changed, since that table has no replica identity. Nothing of this step was kept: ALTER TABLE … REPLICA IDENTITY FULL there, or take the table out of the publication, then try again.',
  ],
  [
    /^0A000: .*(?: rules| RETURNING on relation)/,
    'foreign',
    'a rule that someone added to a table of the mirror keeps rows from being written. Nothing of this step was kept: drop that rule, then try again.',
  ],
]
