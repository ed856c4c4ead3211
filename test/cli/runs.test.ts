import { beforeEach, describe, expect, test } from 'vitest'
import { REASON_MEANINGS } from '../../src/model/reasons.ts'
import type { Ending } from '../../src/model/run.ts'
import { type Mirror, openMirror } from '../../src/store/mirror.ts'
import { quickRun } from '../store/nights.ts'
import { anEnding, aPage, customers, MINUTE_MS, START_MS } from '../support/builders.ts'
import { REFUSED } from '../support/full-mirror.ts'
import { aPlayedFile, mirrorPages } from '../support/mirror-file.ts'
import { anAwayOrganization, anAwayWorkplace, aWorkplace, type Workplace } from '../support/workplace.ts'

let workplace: Workplace

describe('runs and rejects', () => {
  const SOME_ID = '10000000-0000-4000-8000-000000000001'
  const NO_ID = { name: 'Nobody Fictional', email: 'nobody@example.com' }
  const BAD_FIELD = { id: SOME_ID, name: ['Two', 'Names'] }

  const DATA = [NO_ID, BAD_FIELD, ...['2', '3'].map((last) => ({ id: SOME_ID.replace(/1$/, last) }))]
  /** acme: a complete run, then a failed one. globex: a run with two rejects. */
  async function threeRuns(mirror: Mirror): Promise<void> {
    await mirrorPages(mirror, [customers(1, 3)])
    await mirrorPages(mirror, [DATA], { organization: 'globex' })
    await mirrorPages(mirror, [], { ending: REFUSED })
  }

  beforeEach(async () => {
    workplace = aWorkplace(['acme', 'globex'].map((id) => anAwayOrganization(id)))
    await aPlayedFile(threeRuns, workplace.mirror)
  })

  test('runs lists the latest runs of all or of one, newest first, as a table and as one document', async () => {
    const listed = async (args = '') => (await workplace.json(`runs${args}`)).runs

    expect((await workplace.run('runs')).stdout).toMatch(/^#3 .* acme +failed: unauthorized .*\n#2 .* globex .*\n#1 /m)
    expect(await listed(' acme')).toMatchObject([{ id: 3 }, { id: 1 }])
    expect(await listed(' acme --limit 1')).toMatchObject([{ id: 3 }])
    expect(await listed()).toMatchObject([
      { id: 3, organization: 'acme', status: 'failed', received: 0, trigger: 'sync' },
      { id: 2, organization: 'globex', status: 'complete', received: 4, rejected: 2, trigger: 'sync' },
      { id: 1, organization: 'acme', status: 'complete', received: 3, trigger: 'sync' },
    ])
  })

  test('rejects lists the records that could not be kept, with the reasons; the document has them as received', async () => {
    const { code, stdout } = await workplace.run('rejects')

    expect(code).toBe(0)
    expect(stdout).toMatch(new RegExp(`^globex +${SOME_ID} +#2 .* name must be text$`, 'm'))
    expect(stdout).not.toContain('Fictional')
    expect((await workplace.json('rejects globex')).rejects).toMatchObject([
      { recordId: null, position: 0, payload: NO_ID },
      { recordId: SOME_ID, position: 1, payload: BAD_FIELD },
    ])
    expect(await workplace.run('rejects acme')).toMatchObject({ code: 0, stderr: '' })
  })

  test('rejects says where there are more than it lists, and writes out what would act on a terminal', async () => {
    const odd = { name: 'a\u009b31m\u202e\u2028\u200b\n\u001b[31m' }
    const data = [odd, ...Array.from({ length: 50 }, (_, number) => ({ ...NO_ID, name: `Nobody ${number}` }))]
    const mirror = await openMirror(workplace.mirror)
    await mirrorPages(mirror, [data])
    await mirror.close()
    const listed = async (args = '') => {
      const { stdout, stderr } = await workplace.run(`rejects acme --json${args}`)
      expect(stdout).toMatch(/^[\x20-\x7e\n]+$/)
      return { found: JSON.parse(stdout).rejects, stderr }
    }

    const first = await listed()
    expect(first.found).toHaveLength(50)
    expect(first.stderr).toBe('These are the newest 50. For more of them use --limit.\n')
    const { found } = await listed(' --limit 60')
    expect(found).toHaveLength(51)
    expect(found.map(({ payload }: { payload: unknown }) => payload)).toContainEqual(odd)
  })
})

describe('runs show', () => {
  const CERTIFICATE = { requests: 12, distinct: 3, total: 3, isWhole: true, holes: [], reasons: [] }

  let mirror: Mirror

  beforeEach(async () => {
    ;({ workplace, mirror } = await anAwayWorkplace())
  })

  const ended = (ending: Partial<Ending>) => mirrorPages(mirror, [customers(1, 3)], { ending })
  const shown = async (run: number) => (await workplace.run(`runs show ${run} --config ${workplace.config}`)).stdout
  const documentOf = async (run: number) => (await workplace.json(`runs show ${run}`)).run

  test('every reason is explained in a sentence, also where the list was not read, and what another version says; no text acts on a terminal', async () => {
    await ended({ proof: 'unproven', reasons: Object.keys(REASON_MEANINGS), certificate: CERTIFICATE })
    const text = await shown(1)

    expect(text).toContain('Unproven: this scan does not show that a customer has left the list')
    for (const [reason, meaning] of Object.entries(REASON_MEANINGS)) {
      expect(text).toContain(`  ${reason}: ${meaning}\n`)
      expect(meaning).toMatch(/^[A-Z].{15,}\.$/)
    }

    const holes = [{ position: 600, size: 5 }]
    const certificate = { ...CERTIFICATE, holes, limit: 700, total: 1234, newFields: ['sc\u001b[31more'] }
    await ended({ proof: 'unproven', reasons: ['hole', 'something-new'], certificate })
    const next = await shown(2)
    for (const said of [' 601 to 605 ', '700 of 1,234', 'something-new', String.raw`sc\u001b[31more`])
      expect(next).toContain(said)
    expect(next).not.toContain('\u001b')
  })

  test('a quick run in which too many customers were absent leaves the decision to the next full run', async () => {
    await ended({ proof: 'proven', reasons: [] })
    const quick = { status: 'partial', reasons: ['quick', 'request-limit'], trustedPages: 988 } as const
    await quickRun(mirror, 0, [], { gone: [1, 2, 3], ending: quick })

    expect(await shown(2)).toContain('the next full run decides')
    expect(await shown(2)).not.toContain('removals approve')
    expect(await documentOf(2)).toMatchObject({ ...quick, held: 3, missing: 0 })
  })

  test('a run contradicted by a search names the found customers by id, and how to decide about the others', async () => {
    await mirrorPages(mirror, [customers(1, 100)])
    const gone = customers(1, 15).map(({ id }) => String(id))
    const found = new Set(gone.slice(0, 12))
    const removals = { rule: { after: 1, maxShare: 0.5 }, confirmed: new Set<string>(), found, isSample: true }
    const ending = { proof: 'proven', reasons: [], certificate: CERTIFICATE, removals } as const
    await mirrorPages(mirror, [customers(16, 100)], { atMs: START_MS + MINUTE_MS, ending })
    const text = await shown(2)

    expect(text.match(/found by a search, but not in the list: [0-9a-f-]{36}\n/g)).toHaveLength(10)
    expect(text).toMatch(new RegExp(`  customer-mirror removals discard acme --config ${workplace.config}\n`))
    const expected = { proof: 'unproven', reasons: ['contradicted'], found: [...found] }
    expect((await documentOf(2)).certificate).toMatchObject(expected)
  })

  test('a run under way shows what it has read and nothing of its end; one that goes on from it names it', async () => {
    const start = { organization: 'acme', trigger: 'schedule', resumeWithinMs: 60 * MINUTE_MS } as const
    const first = await mirror.startRun({ ...start, nowMs: Date.now() })
    const window = { page: 1, size: 100, perPage: 100, total: 3, beyondEnd: false }
    await mirror.savePages(first, [{ ...aPage(1, customers(1, 3)), window }], Date.now())
    const underway = await shown(1)
    const error = { code: 'interrupted', message: 'stopped as asked' }
    await mirror.finishRun(first, anEnding({ status: 'interrupted', reasons: ['interrupted'], error }), START_MS)
    const second = await mirror.startRun({ ...start, nowMs: Date.now() })
    await mirror.finishRun(second, anEnding(), Date.now())
    await mirror.startRun({ ...start, organization: 'globex', nowMs: START_MS })

    expect(underway).toContain('3 customers so far: 3 new\n')
    expect(underway).not.toMatch(/Unproven|unproven|0 ms|request/)
    expect(await shown(1)).toContain('interrupted: stopped as asked\n')
    expect(await shown(2)).toContain('It continued run #1')
    expect(await documentOf(2)).toMatchObject({ id: 2, resumedFrom: 1 })
    // Killed: it is recorded as running, and its lease is long over.
    expect(await documentOf(3)).toMatchObject({ status: 'interrupted', reasons: ['interrupted'] })
  })

  test('the document has the report and the certificate as recorded; options stand before and after the number', async () => {
    const certificate = { ...CERTIFICATE, proof: 'proven', basis: 'quiet' }
    await ended({ proof: 'proven', reasons: [], certificate })
    const stdout = await shown(1)

    expect(await documentOf(1)).toMatchObject({ organization: 'acme', received: 3, resumedFrom: null, certificate })
    for (const line of [`runs show #1 --config=${workplace.config}`, `runs -c ${workplace.config} show 1`])
      expect(await workplace.run(line, { cwd: '/' }), line).toMatchObject({ code: 0, stdout })
  })
})
