import type { MirrorCode } from '../../../errors/errors.ts'

/**
 * What a pooler such as PgBouncer says where another connection would fare no better, as `code: message`. It has one SQLSTATE for nearly all
 * that it refuses, and for what passes, such as too many clients.
 */
export const SAID_BY_POOLER: [pattern: RegExp, code: MirrorCode, sentence: string][] = [
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
    /^08P01: (?:no such (?:database|user)|(?:database|role) "|.*authentication failed)/,
    'unreadable',
    'the pooler there does not lead to this database, or does not let this user in. Correct the address, or the settings of the pooler.',
  ],
]
