import { createHmac } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { privacyPolicy } from '../src/privacy/privacy-policy.ts'
import { openMirror } from '../src/store/mirror.ts'
import { mirrorOrganization } from '../src/sync/mirror-organization.ts'
import { customers } from './support/builders.ts'
import { listedSource, mirroring } from './support/listed-source.ts'
import { aMirrorFile, rowsOf, valueOf } from './support/mirror-file.ts'
import { childProgram, killedAfter } from './support/run-cli.ts'

const KEY = 'a made-up key of more than thirty-two characters'
const POLICY = { drop: ['address'], hash: ['phone'], key: KEY }
/** Several steps of the rewriting. */
const COUNT = 2500

/** In a step, between two, or while the file is written anew. */
test.each([
  [3, 0],
  [1, 9000],
  [2, 500],
  [5, 0],
])(
  'a process killed while it hides stored values leaves nothing that the next one does not hide (line %d, %d µs)',
  async (lines, microseconds) => {
    const file = aMirrorFile()
    const list = customers(1, COUNT)
    const first = await openMirror(file)
    const settings = { scan: 'chain', pageSize: 100, now: Date.now, monotonicMs: Date.now } as const
    await mirrorOrganization(mirroring(first, listedSource(list), settings))
    await first.close()
    await killedAfter(childProgram('hide', file, String(COUNT), JSON.stringify(POLICY)), { lines, microseconds })

    expect(valueOf(file, 'PRAGMA integrity_check')).toBe('ok')
    const next = await openMirror(file)
    const privacy = privacyPolicy(POLICY)
    const { error } = await mirrorOrganization(mirroring(next, listedSource(list), { ...settings, privacy }))
    await next.close()
    expect(error).toBeUndefined()
    const hash = (n: number) => `hmac:${createHmac('sha256', KEY).update(`+1 555 0100 ${n}`).digest('hex')}`
    const stored = rowsOf(file, 'SELECT phone, address FROM customers ORDER BY row_id')
    expect(stored).toEqual(list.map((_, at) => ({ phone: hash(at + 1), address: null })))
    expect(rowsOf(file, 'SELECT * FROM changes')).toEqual([])
    const bytes = ['', '-wal', '-shm'].map((end) => (existsSync(file + end) ? readFileSync(file + end, 'latin1') : ''))
    expect(bytes.filter((text) => text.includes('Exampleton') || text.includes('+1 555 0100'))).toEqual([])
  },
)
