import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { abandonedForNothing } from '../../bench/soak/checks/abandoned-runs.ts'
import { compareCustomers, type Compared } from '../../bench/soak/checks/customers.ts'
import { missedDueTimes, repeatedDueTimes } from '../../bench/soak/checks/due-times.ts'
import { badlyEnded } from '../../bench/soak/checks/ended-runs.ts'
import { oddEnds } from '../../bench/soak/checks/lives.ts'
import { overlappingRuns, requestsOfTwo } from '../../bench/soak/checks/overlaps.ts'
import { reportsOfNights } from '../../bench/soak/checks/reports.ts'
import { alarms, personalData } from '../../bench/soak/checks/written-texts.ts'
import { listCustomers } from '../../bench/soak/listed-customers.ts'
import { readOptions } from '../../bench/soak/options.ts'
import { planEvents } from '../../bench/soak/plan.ts'
import { watchProgress } from '../../bench/soak/progress.ts'
import type { StoredCustomer, StoredRun } from '../../bench/soak/read-mirror.ts'
import { generateCustomers } from '../../src/service/customers.ts'

describe('the events of a soak', () => {
  const stage = {
    ...{ seed: '7', restMs: 600_000, workers: ['worker-1', 'worker-2', 'worker-3'], organizations: ['acme', 'globex'] },
    ...{ queue: 'redis' as const, mirror: 'postgres' as const },
  }

  test('follow from the seed alone', () => {
    expect(planEvents(stage)).toEqual(planEvents({ ...stage }))
    expect(planEvents({ ...stage, seed: '8' })).not.toEqual(planEvents(stage))
  })

  test('are of every kind in ten minutes, on every worker, and all end before the rest', () => {
    const events = planEvents(stage)

    expect(new Set(events.map(({ kind }) => kind)).size).toBe(13)
    expect(new Set(events.map(({ target }) => target))).toContain('worker-3')
    expect(Math.max(...events.map(({ untilMs }) => untilMs))).toBeLessThanOrEqual(stage.restMs)
  })

  test('never hit one worker or the queue twice at a time', () => {
    const lasting = planEvents(stage).filter(({ kind }) => !/^(request|cancel)/.test(kind))
    for (const own of Map.groupBy(lasting, ({ target }) => target).values())
      for (const [index, event] of own.entries())
        expect(event.atMs).toBeGreaterThanOrEqual(own[index - 1]?.untilMs ?? 0)
  })

  test('leave the embedded queue, which lives in its worker, alone', () => {
    const kinds = planEvents({ ...stage, workers: ['worker-1'], queue: 'embedded', mirror: 'sqlite' }).map(
      ({ kind }) => kind,
    )

    expect(kinds).toContain('kill-worker')
    expect(kinds.filter((kind) => /queue$|mirror$|^request|^cancel/.test(kind))).toEqual([])
  })

  test.each([
    ['--minutes', 'soon'],
    ['--minutes', '0'],
    ['--queue', 'postgres'],
    ['--forever'],
    ['--organizations', '5'],
    ['--mirror', 'file'],
    ['--mirror', 'postgres', '--queue', 'embedded'],
  ])('are not played for %s %s', (...args) => {
    expect(() => readOptions(args, () => '1')).toThrow('npm run soak')
  })
})

test('changes of a list follow from the seed: customers come, return, change and leave', () => {
  const [one, other] = [0, 1].map(() => listCustomers({ seed: 'a', count: 50, isByName: true, nowMs: 0 }))
  for (let atMs = 1; atMs <= 300; atMs += 1) for (const list of [one, other]) list?.change(atMs)
  const stays = [...(one?.stays.values() ?? [])]

  expect(one?.rows()).toEqual(other?.rows())
  expect(stays.some((each) => each.length > 1)).toBe(true)
  expect(stays.filter((each) => each.at(-1)?.toMs === Infinity)).toHaveLength(one?.rows().length ?? 0)
})

describe('a mirror is compared with its service, field by field', () => {
  const [first, second, gone] = generateCustomers({ seed: 'compared', count: 3 })
  if (first === undefined || second === undefined || gone === undefined) throw new Error('No customers were made')
  const row = (customer: typeof first, changes: Record<string, string | null> = {}): StoredCustomer => ({
    ...{ ...customer, organization: 'acme', missing_since: null, removed_at: null },
    ...changes,
  })
  const removal = { organization: 'acme', id: gone.id, missingMs: 40, atMs: 50 }
  const right: Compared = {
    organization: 'acme',
    listed: [first, second],
    stays: new Map([
      [first.id, [{ fromMs: 0, toMs: Infinity }]],
      [second.id, [{ fromMs: 0, toMs: Infinity }]],
      [gone.id, [{ fromMs: 0, toMs: 30 }]],
    ]),
    stored: [row(first), row(second), row(gone, { removed_at: '2026-01-01' })],
    removals: [removal],
  }
  const compare = (changes: Partial<Compared>) => compareCustomers({ ...right, ...changes })

  test('and nothing is found where they are equal', () => {
    expect(compare({})).toEqual([])
  })

  test.each<[string, Partial<Compared>, string]>([
    [
      'a lost customer',
      { stored: right.stored.slice(1) },
      `acme: customer ${first.id} is listed and not in the mirror`,
    ],
    [
      'a removed customer that is listed',
      { stored: [row(first, { removed_at: '2026-01-01' }), ...right.stored.slice(1)] },
      `acme: customer ${first.id} is listed and removed in the mirror`,
    ],
    [
      'a missing customer that is listed',
      { stored: [row(first, { missing_since: '2026-01-01' }), ...right.stored.slice(1)] },
      `acme: customer ${first.id} is listed and missing in the mirror`,
    ],
    [
      'an old field',
      { stored: [row(first, { phone: 'before' }), ...right.stored.slice(1)] },
      `acme: customer ${first.id} has another phone in the mirror`,
    ],
    [
      'a customer that left and was not removed',
      { stored: [row(first), row(second), row(gone)] },
      `acme: customer ${gone.id} has left and is active in the mirror`,
    ],
    ['a customer of another organization', { stays: new Map() }, `acme: customer ${gone.id} was never listed`],
  ])('%s is found', (_what, changes, finding) => {
    expect(compare(changes)).toContain(finding)
  })

  test('a removal of a customer that was listed all the time is found, even when it was undone since', () => {
    expect(compare({ removals: [{ ...removal, id: first.id }] })).toEqual([
      expect.stringMatching(`acme: customer ${first.id} was removed at .* although it was listed`),
    ])
  })

  test('a removal of a customer that came back just before is none', () => {
    const stays = new Map([
      ...right.stays,
      [
        gone.id,
        [
          { fromMs: 0, toMs: 30 },
          { fromMs: 45, toMs: Infinity },
        ],
      ],
    ])

    expect(compare({ listed: [first, second, gone], stored: [row(first), row(second), row(gone)], stays })).toEqual([])
  })
})

const aRun = (id: number, startedMs: number, finishedMs: number, changes: Partial<StoredRun> = {}): StoredRun => ({
  ...{
    id,
    organization: 'acme',
    trigger: 'schedule',
    startedMs,
    finishedMs,
    asOfMs: startedMs,
    status: 'complete',
    proof: 'proven',
  },
  ...{ certificate: '{}', error_code: null, error: null, held: 0, unaccounted: 0, isQuick: false },
  ...changes,
})

describe('no two runs of an organization may overlap', () => {
  test('by the mirror', () => {
    const other = aRun(2, 15, 30, { organization: 'globex' })

    expect(overlappingRuns([aRun(1, 10, 20), other, aRun(3, 20, 30)])).toEqual([])
    expect(overlappingRuns([aRun(1, 10, 20), aRun(2, 19, 30)])).toEqual(['acme: run 2 began before run 1 had ended'])
    expect(overlappingRuns([aRun(1, 10, Number.NaN), aRun(2, 19, 30)])).toHaveLength(1)
  })

  describe('by the requests that the service saw', () => {
    const runs = [aRun(1, 10, 20), aRun(2, 30, 40)]
    const from = (life: string, ...times: number[]) => times.map((atMs) => ({ organization: 'acme', life, atMs }))
    const fate = (name: string, frozenAtMs: number[] = [], endedAtMs?: number) => ({ name, frozenAtMs, endedAtMs })

    test('of one worker after the other', () => {
      expect(requestsOfTwo(runs, [...from('a', 11, 12), ...from('b', 31, 32)], [fate('a'), fate('b')])).toEqual([])
    })

    test('of two workers at a time', () => {
      expect(requestsOfTwo(runs, [...from('a', 11, 12), ...from('b', 12)], [fate('a'), fate('b')])).toEqual([
        'acme: during run 1 of a, b sent 1 requests too',
      ])
    })

    test('of one that stood still before, or had ended, but only a few', () => {
      const requests = [...from('a', 31, 32, 33), ...from('b', 32)]
      const many = [...from('a', ...Array<number>(50).fill(31)), ...from('b', ...Array<number>(45).fill(32))]

      expect(requestsOfTwo(runs, requests, [fate('a'), fate('b', [15])])).toEqual([])
      expect(requestsOfTwo(runs, requests, [fate('a'), fate('b', [], 25)])).toEqual([])
      expect(requestsOfTwo(runs, requests, [fate('a'), fate('b', [35], 36)])).toHaveLength(1)
      expect(requestsOfTwo(runs, many, [fate('a'), fate('b', [15])])).toHaveLength(1)
    })
  })
})

describe('a run that was given up is found', () => {
  const givenUp = aRun(1, 10, 20, {
    ...{ status: 'interrupted', error_code: 'interrupted' },
    error: 'The process ended before the run did. What it had saved is kept.',
  })
  const requests = [{ organization: 'acme', life: 'a', atMs: 12 }]
  const alive = { name: 'a', frozenAtMs: [], endedAtMs: undefined }

  test('where its worker went on all the time, even when another one ended', () => {
    const other = { name: 'b', frozenAtMs: [], endedAtMs: 15 }

    expect(abandonedForNothing([givenUp], requests, [alive, other])).toEqual([
      'acme: run 1 was given up although no worker had ended or stood still',
    ])
  })

  test('and not where its worker ended or stood still, before it sent a request or after', () => {
    for (const struck of [
      { ...alive, endedAtMs: 15 },
      { ...alive, frozenAtMs: [5, 14] },
    ]) {
      expect(abandonedForNothing([givenUp], requests, [struck])).toEqual([])
      expect(abandonedForNothing([givenUp], [], [{ ...alive, name: 'b' }, struck])).toEqual([])
    }
    expect(abandonedForNothing([aRun(1, 10, 20)], requests, [alive])).toEqual([])
  })
})

describe('a due time without a run is found', () => {
  const due = { organization: 'acme', dueMs: [10, 20], startsMs: [25] }
  const byClock = (fromMs: number, toMs: number) => toMs - fromMs

  test('and one run makes up for several', () => {
    expect(missedDueTimes(due, { wellFor: byClock, allowedMs: 15, endMs: 100 })).toEqual([])
  })

  test('where the run came too late or never', () => {
    expect(missedDueTimes(due, { wellFor: byClock, allowedMs: 14, endMs: 100 })).toEqual([
      expect.stringContaining('the next run began'),
    ])
    expect(missedDueTimes({ ...due, startsMs: [5, 12] }, { wellFor: byClock, allowedMs: 15, endMs: 100 })).toEqual([
      expect.stringMatching(/^acme: was due at .*, and no run followed$/),
    ])
  })

  test('and not while the queue or all workers were away', () => {
    expect(missedDueTimes({ ...due, startsMs: [] }, { wellFor: () => 3, allowedMs: 15, endMs: 100 })).toEqual([])
  })
})

test('a due time for which a list was read twice is found', () => {
  const kept = { organization: 'acme', dueMs: [10, 20, 30] }

  expect(repeatedDueTimes({ ...kept, asOfMs: [5, 6, 10, 29, 31] })).toEqual([])
  expect(repeatedDueTimes({ ...kept, asOfMs: [10, 19, 31] })).toEqual([
    expect.stringMatching(/^acme: .* was read 2 times/),
  ])
})

test.each<[string, Partial<StoredRun>]>([
  ['never ended', { status: 'running', finishedMs: Number.NaN }],
  ['is complete and has no certificate', { certificate: null }],
  ['is failed and has no reason', { status: 'failed' }],
  ['does not account for 2 records', { unaccounted: 2 }],
  ['held back 3 removals', { held: 3 }],
  ['ended with unexpected', { status: 'failed', error_code: 'unexpected', error: 'boom' }],
])('a run is found that %s', (what, changes) => {
  expect(badlyEnded([aRun(1, 0, 1), aRun(2, 2, 3, changes)])).toEqual([expect.stringContaining(`acme: run 2 ${what}`)])
})

test('a night that is reported under several ids is found, unless the queue lost what it knew, and so is no report', () => {
  const report = (id: string, dueAt: string) => ({ id, body: JSON.stringify({ data: { dueAt, organizations: [] } }) })
  const repeated = [report('a', 'one'), report('a', 'one'), report('b', 'two'), report('c', 'two')]

  expect(reportsOfNights(repeated, 1)).toEqual([])
  expect(reportsOfNights(repeated, 0)).toEqual(['the night of two was reported under 2 ids'])
  expect(reportsOfNights([], 3)).toEqual(['no night was reported'])
})

describe('a worker', () => {
  const life = {
    ...{ name: 'worker-1.1', startedAtMs: 10, endedAtMs: 50, endsAs: 'stopped' as const, wouldNotStop: false },
    ...{ hasStarted: true, exitCode: 143 },
  }
  const byItself = { ...life, endsAs: undefined, exitCode: 1 }

  test('may end as asked, and where it cannot start', () => {
    const early = { ...byItself, hasStarted: false }

    expect(oddEnds([life, { ...life, endsAs: 'killed', exitCode: null }], [])).toEqual([])
    expect(oddEnds([early], [{ fromMs: 40, toMs: 60 }])).toEqual([])
  })

  test.each([
    ['ended by itself', byItself],
    ['did not stop', { ...life, wouldNotStop: true }],
    ['still runs', { ...life, endedAtMs: undefined }],
    ['ended with 1, not 143', { ...life, exitCode: 1 }],
  ])('is found that %s', (what, odd) => {
    expect(oddEnds([odd], [{ fromMs: 0, toMs: 100 }])).toEqual([expect.stringContaining(what)])
  })
})

describe('in what was written', () => {
  test.each(generateCustomers({ seed: 'written', count: 3 }).flatMap(({ name, email, phone }) => [name, email, phone]))(
    'something of a customer is found: %s',
    (value) => {
      expect(personalData([{ place: 'a log', text: `{"msg":"run complete"}\n{"oops":"${value}"}` }])).not.toEqual([])
    },
  )

  test('keys, secrets and stack traces are found, and the value is not repeated', () => {
    const text = 'soak_key_acme~1 soak_secret_acme\n    at run (file:///a.ts:1:2)\n{"msg":"run failed unexpectedly"}'

    expect(personalData([{ place: 'a log', text }])).toEqual(['a log holds an API key', 'a log holds a secret'])
    expect(alarms({ place: 'a log', text })).toHaveLength(2)
  })

  test('counts and ids are no finding', () => {
    const text = '{"organization":"acme","msg":"run complete","report":{"inserted":3}}'

    expect([...personalData([{ place: 'a log', text }]), ...alarms({ place: 'a log', text })]).toEqual([])
  })
})

/** Two workers and a Redis, of which it is only seen what was killed. */
function watched(lastMs: number, exit: (code: number) => void) {
  const killed: string[] = []
  const said: string[] = []
  const life = (name: string) => ({ process: { kill: (signal: string) => killed.push(`${name} by ${signal}`) } })
  const world = {
    workers: ['worker-1', 'worker-2'].map((name) => ({ lives: [life(`${name}.1`), life(`${name}.2`)] })),
    redis: { kill: async () => void killed.push('Redis') },
    postgres: undefined,
    folder: 'the folder',
  }
  const progress = watchProgress(world, { lastMs, seed: '7', say: (text) => said.push(text), exit })
  return { progress, killed, said }
}

describe('a soak that does not end', () => {
  test('says what it was doing and what is open, kills all its processes, and exits with 1', async () => {
    let soak: ReturnType<typeof watched> | undefined
    const code = await new Promise<number>((resolve) => {
      soak = watched(1, resolve)
      soak.progress.doing('coming to rest')
      setTimeout(() => {}, 60_000).unref()
    })

    expect(code).toBe(1)
    expect(soak?.killed.toSorted()).toEqual(
      ['Redis', ...['1.1', '1.2', '2.1', '2.2'].map((life) => `worker-${life} by SIGKILL`)].toSorted(),
    )
    expect(soak?.said).toHaveLength(1)
    expect(soak?.said[0]).toMatch(
      /^The soak FAILED: .* while coming to rest\. Still open: .*Seed 7; .* kept in the folder\n$/,
    )
  })

  test('and one that ended says nothing', async () => {
    const { progress, killed, said } = watched(1, () => {
      throw new Error('It has ended by itself')
    })
    progress.stop()
    await sleep(20)

    expect([...killed, ...said]).toEqual([])
  })
})
