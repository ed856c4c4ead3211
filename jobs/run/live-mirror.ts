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

/** The mirror for a long-running process, opened again where it was replaced. Runs that began in the old file end as `replaced`. */
export async function openLiveMirror(file: string, { signal, onReplaced = () => {} }: Opening = {}): Promise<Mirror> {
  const first = await openMirror(file, { signal, waitsOnceStopped: true })
  // None is open while it is opened again.
  let open: Mirror | undefined = first
  let opening: Promise<Mirror> | undefined
  const startedIn = new WeakMap<object, Mirror>()

  function standing(): Standing {
    return open?.standing() ?? (isMissing(file) ? 'none' : 'another')
  }

  async function reopen(): Promise<Mirror> {
    const [before, found] = [open, standing()]
    // What could not be opened was reported, but not that it is gone by now.
    if (before !== undefined || found === 'none') onReplaced(found)
    open = undefined
    // Its WAL must be gone before another file is opened beside it.
    await before?.close()
    return (open = await openMirror(file))
  }

  async function latest(): Promise<Mirror> {
    if (open?.standing() === 'same') return open
    return await (opening ??= reopen().finally(() => (opening = undefined)))
  }

  /** The mirror for readers, who wait for one that a run is making. Throws if the file was deleted. */
  async function there(): Promise<Mirror> {
    if (opening === undefined && standing() === 'none') throw replaced(file, 'none')
    return latest()
  }

  /** What is asked about a run is asked in the mirror in which that began, and everything else in that which is there. */
  function ask(verb: string, asked: readonly unknown[]): unknown {
    const [run] = asked
    const begun = typeof run === 'object' && run !== null ? startedIn.get(run) : undefined
    if (begun === undefined) return there().then((mirror) => answerOf(mirror, verb, asked))
    return begun === open ? answerOf(begun, verb, asked) : Promise.reject(replaced(file, 'another'))
  }

  async function startRun(...asked: unknown[]): Promise<unknown> {
    const mirror = await latest()
    const run: unknown = await answerOf(mirror, 'startRun', asked)
    if (typeof run === 'object' && run !== null) startedIn.set(run, mirror)
    return run
  }

  async function close(): Promise<void> {
    await opening?.catch(() => {})
    await open?.close()
  }

  const own = new Map<string, unknown>(Object.entries({ file: shownMirror(file), standing, startRun, close }))
  return new Proxy(first, {
    get(_first, verb) {
      // A promise that fulfils with this mirror asks whether it is one.
      if (typeof verb === 'symbol' || verb === 'then') return undefined
      return own.get(verb) ?? ((...asked: unknown[]) => ask(verb, asked))
    },
  })
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

/** The mirror for the endpoints, which answer even while its server is frozen: a look-up without an answer is refused as `gone`. */
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
