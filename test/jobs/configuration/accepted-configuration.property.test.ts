import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hashOf, LIMITS, someValues, startOn, type Machine } from '../../support/accepting-workers.ts'
import { seeds } from '../../support/seeds.ts'

const LOOK_MS = 10_000
const START_MS = 1_700_000_000_000
const MACHINES = 3
/** A content that no machine has had before. */
const NEW = 9

type Event =
  | { what: 'edit'; machine: number; content: number; isBroken: boolean; ageMs: number }
  | { what: 'clock'; machine: number; clockMs: number }
  | { what: 'look' | 'read' | 'crash' | 'start'; machine: number }
  | { what: 'all-look' }
  | { what: 'forget' }
  | { what: 'wait'; ms: number }

const anyMachine = fc.nat(MACHINES - 1)
const anyClock = fc.constantFrom(0, 0, -3_600_000, 3_600_000, 365 * 86_400_000)
const anyAge = fc.constantFrom(0, 0, 60_000, 30 * 86_400_000, -86_400_000)
const anyEdit = { what: fc.constant('edit'), content: fc.nat(3), isBroken: fc.boolean(), ageMs: anyAge } as const
const anyDeed = fc.constantFrom('look', 'look', 'look', 'read', 'read', 'crash', 'start')
const anyEvent: fc.Arbitrary<Event> = fc.oneof(
  fc.record({ ...anyEdit, machine: anyMachine } as const),
  fc.record({ what: fc.constant('clock'), machine: anyMachine, clockMs: anyClock } as const),
  fc.record({ what: anyDeed, machine: anyMachine } as const),
  fc.constantFrom<Event>({ what: 'all-look' }, { what: 'all-look' }, { what: 'forget' }),
  fc.record({ what: fc.constant('wait'), ms: fc.constantFrom(1000, LOOK_MS, LIMITS.abandonedMs + LOOK_MS) } as const),
)

test('workers with different files, crashes, wrong clocks and a queue that forgets agree on one, and the last change wins', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(anyEvent, { minLength: 10, maxLength: 60 }),
      anyMachine,
      anyClock,
      anyAge,
      async (events, last, clock, age) => {
        const world = aWorld()
        for (const each of events) {
          await world.play(each)
          world.expectOnlyGoodFilesWrite()
        }
        world.bringBack()
        await world.settle()
        const settled = world.values.accepted()
        // However long they go on, they do not push each other out.
        expect(world.held()).toContain(settled)
        await world.settle()
        expect(world.values.accepted()).toBe(settled)

        await world.play({ what: 'clock', machine: last, clockMs: clock })
        await world.play({ what: 'edit', machine: last, content: NEW, isBroken: false, ageMs: age })
        await world.play({ what: 'read', machine: last })
        await world.settle()
        expect(world.values.accepted()).toBe(hashOf(NEW))
        expect(world.writers()).toEqual([last])
      },
    ),
    { numRuns: seeds(1000), seed: 17 },
  ))

test('a worker that starts with an older file does not push out a newer one that is in use', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(anyEvent, { minLength: 5, maxLength: 20 }),
      anyMachine,
      fc.integer({ min: 1 }),
      async (events, late, ageMs) => {
        const world = aWorld()
        for (const each of events) await world.play(each)
        await world.play({ what: 'crash', machine: late })
        const keeper = (late + 1) % MACHINES
        await world.play({ what: 'start', machine: keeper })
        world.bringBack([late])
        await world.settle()
        await world.play({ what: 'clock', machine: keeper, clockMs: 0 })
        await world.play({ what: 'edit', machine: keeper, content: NEW, isBroken: false, ageMs: 0 })
        await world.play({ what: 'read', machine: keeper })
        await world.play({ what: 'look', machine: keeper })
        await world.play({ what: 'edit', machine: late, content: 0, isBroken: false, ageMs })
        await world.play({ what: 'clock', machine: late, clockMs: 0 })
        await world.play({ what: 'start', machine: late })
        await world.settle()

        expect(world.values.accepted()).toBe(hashOf(NEW))
        expect(world.writers()).toEqual([keeper])
      },
    ),
    { numRuns: seeds(500), seed: 17 },
  ))

function aWorld() {
  const values = someValues()
  let nowMs = START_MS
  const machines: Machine[] = Array.from({ length: MACHINES }, (_, content) => ({
    file: { content, isBroken: false, modifiedMs: START_MS - content * 1000 },
    clockMs: 0,
    worker: undefined,
  }))
  const workers = () => machines.flatMap(({ worker }) => (worker === undefined ? [] : [worker]))
  const at = (index: number) => machines[index] ?? expect.fail('no machine')

  function start(machine: Machine): void {
    if (!machine.file.isBroken) machine.worker ??= startOn(machine, values, () => nowMs)
  }

  for (const machine of machines) start(machine)

  async function play(event: Event): Promise<void> {
    if (event.what === 'wait') nowMs += event.ms
    else if (event.what === 'forget') values.forget()
    else if (event.what === 'all-look') await Promise.all(workers().map(({ accepted }) => accepted.look()))
    else if (event.what === 'clock') at(event.machine).clockMs = event.clockMs
    else if (event.what === 'edit') {
      const { content, isBroken, ageMs } = event
      const { clockMs } = at(event.machine)
      at(event.machine).file = { content, isBroken, modifiedMs: nowMs + clockMs - ageMs }
    } else if (event.what === 'start') start(at(event.machine))
    else if (event.what === 'crash') at(event.machine).worker = undefined
    else if (event.what === 'read') at(event.machine).worker?.read()
    else {
      const { worker } = at(event.machine)
      const before = values.accepted()
      await worker?.accepted.look()
      // A file with mistakes is not offered, and nothing is in its name.
      if (worker?.isBroken() === true) expect(values.accepted()).toBe(before)
      if (worker !== undefined)
        expect(worker.accepted.mayWrite).toBe(!worker.isBroken() && values.accepted() === worker.hash())
    }
  }

  /** All workers run, on files without mistakes. */
  function bringBack(except: readonly number[] = []): void {
    for (const [index, machine] of machines.entries()) {
      if (except.includes(index)) continue
      machine.file = { ...machine.file, isBroken: false }
      start(machine)
      machine.worker?.read()
    }
  }

  async function settle(): Promise<void> {
    for (let passedMs = 0; passedMs < 3 * LIMITS.abandonedMs; passedMs += LOOK_MS) {
      nowMs += LOOK_MS
      await Promise.all(workers().map(({ accepted }) => accepted.look()))
    }
  }

  return {
    values,
    play,
    bringBack,
    settle,
    held: () => workers().map((worker) => worker.hash()),
    writers: () => machines.flatMap(({ worker }, index) => (worker?.accepted.mayWrite === true ? [index] : [])),
    /** A worker whose file has mistakes writes nothing, whatever it knows. */
    expectOnlyGoodFilesWrite: () => {
      for (const worker of workers()) if (worker.isBroken()) expect(worker.accepted.mayWrite).toBe(false)
    },
  }
}
