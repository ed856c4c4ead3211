import { shownMirror } from '../../src/address/mirror-address.ts'
import { isMissing } from '../../src/machine/folders.ts'
import type { Mirror, Standing } from '../../src/model/mirror.ts'
import { MirrorUnusable } from '../../src/errors/errors.ts'
import { within } from '../queue/deadline.ts'
import { openMirror, replaced } from '../../src/store/mirror.ts'

type Opening = {
  /** Ends the wait for a file that is locked. */
  signal?: AbortSignal | undefined
  /** Called when the file is no longer at its place, with what is there, before that is opened or a new one is made. */
  onReplaced?: ((found: Standing) => void) | undefined
}

/**
 * The mirror at `file` for a long-running process: if the file was replaced, the new one is opened, and if it was deleted, the next
 * run creates a new one. Runs that began in the old file end as `replaced`.
 */
export async function openLiveMirror(file: string, { signal, onReplaced = () => {} }: Opening = {}): Promise<Mirror> {
  const first = await openMirror(file, { signal, waitsOnceStopped: true })
  const live = new LiveFile(file, first, onReplaced)
  return new Proxy(first, {
    get(_first, verb) {
      // A promise that fulfils with this mirror asks whether it is one.
      if (typeof verb === 'symbol' || verb === 'then') return undefined
      if (verb === 'file') return shownMirror(file)
      if (verb === 'standing') return () => live.standing
      if (verb === 'close') return () => live.close()
      if (verb === 'startRun') return (...asked: unknown[]) => live.startRun(asked)
      return (...asked: unknown[]) => live.ask(verb, asked)
    },
  })
}

/** One mirror is open, or none while it is opened again. */
class LiveFile {
  readonly #file: string
  #open: Mirror | undefined
  #opening: Promise<Mirror> | undefined
  readonly #startedIn = new WeakMap<object, Mirror>()
  readonly #onReplaced: (found: Standing) => void

  constructor(file: string, open: Mirror, onReplaced: (found: Standing) => void) {
    this.#onReplaced = onReplaced
    this.#file = file
    this.#open = open
  }

  get standing(): Standing {
    return this.#open?.standing() ?? (isMissing(this.#file) ? 'none' : 'another')
  }

  async startRun(asked: readonly unknown[]): Promise<unknown> {
    const mirror = await this.#latest()
    const run: unknown = await answerOf(mirror, 'startRun', asked)
    if (typeof run === 'object' && run !== null) this.#startedIn.set(run, mirror)
    return run
  }

  /** What is asked about a run is asked in the mirror in which that began, and everything else in that which is there. */
  ask(verb: string, asked: readonly unknown[]): unknown {
    const [run] = asked
    const begun = typeof run === 'object' && run !== null ? this.#startedIn.get(run) : undefined
    if (begun === undefined) return this.#there().then((mirror) => answerOf(mirror, verb, asked))
    if (begun === this.#open) return answerOf(begun, verb, asked)
    return Promise.reject(replaced(this.#file, 'another'))
  }

  async #latest(): Promise<Mirror> {
    if (this.#open?.standing() === 'same') return this.#open
    return await (this.#opening ??= this.#reopen().finally(() => {
      this.#opening = undefined
    }))
  }

  async #reopen(): Promise<Mirror> {
    const before = this.#open
    const found = this.standing
    // What could not be opened was reported, but not that it is gone by now.
    if (before !== undefined || found === 'none') this.#onReplaced(found)
    this.#open = undefined
    // Its WAL must be gone before another file is opened beside it.
    await before?.close()
    return (this.#open = await openMirror(this.#file))
  }

  /** The mirror for readers, who wait for one that a run is making. Throws if the file was deleted. */
  async #there(): Promise<Mirror> {
    if (this.#opening === undefined && this.standing === 'none') throw replaced(this.#file, 'none')
    return await this.#latest()
  }

  async close(): Promise<void> {
    await this.#opening?.catch(() => {})
    await this.#open?.close()
  }
}

function answerOf(mirror: Mirror, verb: string, asked: readonly unknown[]): unknown {
  return Reflect.apply(Object(Reflect.get(mirror, verb)), mirror, asked)
}

type Limits = {
  /** A scrape looks twice, and Prometheus gives it ten seconds. */
  lookMs: number
  /** Counting the customers of a large mirror takes its time. */
  countMs: number
}

const IN_TIME: Limits = { lookMs: 3000, countMs: 60_000 }

/** The most look-ups that may wait for an answer at the same time: each holds a connection that the runs need. */
const MOST_LATE = 2

/**
 * The mirror as the endpoints look at it. They must answer even while its server is frozen or cut off, so a look-up without an answer in time
 * is refused as `gone`. While too many look-ups wait for an answer, each further one is refused at once.
 */
export function answeringInTime(mirror: Mirror, { lookMs, countMs }: Limits = IN_TIME): Mirror {
  let late = 0
  const unanswered = () => new MirrorUnusable(`${mirror.file}: the server does not answer in time.`, { code: 'gone' })

  async function inTime(ask: () => Promise<unknown>, ms: number): Promise<unknown> {
    if (late >= MOST_LATE) throw unanswered()
    const asked = ask()
    const found = await within(
      asked.then((answer) => ({ answer })),
      ms,
      undefined,
    )
    if (found !== undefined) return found.answer
    const ended = () => (late -= 1)
    late += 1
    asked.then(ended, ended)
    throw unanswered()
  }

  return new Proxy(mirror, {
    get(target, verb) {
      const asked: unknown = Reflect.get(target, verb)
      if (typeof asked !== 'function') return asked
      const ms = verb === 'listFreshness' ? countMs : lookMs
      return (...filter: unknown[]) => inTime(async () => Reflect.apply(asked, target, filter), ms)
    },
  })
}
