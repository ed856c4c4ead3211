import type { Run } from '../../src/run.ts'
import type { Mirror, Standing } from '../../src/store.ts'
import { shownMirror } from '../../src/address/mirror-address.ts'
import { isMissing } from '../../src/machine/is-missing.ts'
import { openMirror, replaced } from '../../src/store/mirror.ts'

/**
 * The mirror at `file` for a long-running process: if the file was replaced, the new one is opened, and if it was deleted, the next
 * run creates a new one. Runs that began in the old file end as `replaced`.
 */
export async function openLiveMirror(file: string, { signal, onReplaced = () => {} }: Opening = {}): Promise<Mirror> {
  const live = new LiveFile(file, await openMirror(file, { signal, waitsOnceStopped: true }), onReplaced)
  return {
    file: shownMirror(file),
    standing: () => live.standing,
    async startRun(start) {
      const mirror = await live.latest()
      const run = await mirror.startRun(start)
      live.began(run, mirror)
      return run
    },
    applyPrivacy: async (run, nowMs) => live.of(run).applyPrivacy(run, nowMs),
    pagesAtOnce: (run) => live.of(run).pagesAtOnce(run),
    savePages: async (run, ...saving) => live.of(run).savePages(run, ...saving),
    renewLease: async (run, nowMs) => live.of(run).renewLease(run, nowMs),
    recallWindows: async (run) => live.of(run).recallWindows(run),
    findRemovalCandidates: async (run, ending) => live.of(run).findRemovalCandidates(run, ending),
    findGone: async (run, rowIds) => live.of(run).findGone(run, rowIds),
    findListed: async (run, most) => live.of(run).findListed(run, most),
    finishRun: async (run, ending, nowMs) => live.of(run).finishRun(run, ending, nowMs),
    findKnownElsewhere: async (organization, ids) => (await live.there()).findKnownElsewhere(organization, ids),
    prune: async (...pruning) => (await live.there()).prune(...pruning),
    identity: async () => (await live.there()).identity(),
    listRuns: async (filter) => (await live.there()).listRuns(filter),
    findRun: async (id) => (await live.there()).findRun(id),
    listHeldRemovals: async () => (await live.there()).listHeldRemovals(),
    approveRemovals: async (runId, nowMs) => (await live.there()).approveRemovals(runId, nowMs),
    discardRemovals: async (runId) => (await live.there()).discardRemovals(runId),
    forgetCustomer: async (asked) => (await live.there()).forgetCustomer(asked),
    readmitCustomer: async (asked) => (await live.there()).readmitCustomer(asked),
    listRejects: async (filter) => (await live.there()).listRejects(filter),
    listFreshness: async () => (await live.there()).listFreshness(),
    listUncountedFreshness: async () => (await live.there()).listUncountedFreshness(),
    listLastRuns: async (filter) => (await live.there()).listLastRuns(filter),
    listLatestRuns: async (filter) => (await live.there()).listLatestRuns(filter),
    listUnderway: async (clocks) => (await live.there()).listUnderway(clocks),
    listPrivacy: async () => (await live.there()).listPrivacy(),
    findDamage: async () => (await live.there()).findDamage(),
    close: () => live.close(),
  }
}

type Opening = {
  /** Ends the wait for a file that is locked. */
  signal?: AbortSignal | undefined
  /** Called when the file is no longer at its place, with what is there, before that is opened or a new one is made. */
  onReplaced?: ((found: Standing) => void) | undefined
}

/** One mirror is open, or none while it is opened again. */
class LiveFile {
  readonly #file: string
  #open: Mirror | undefined
  #opening: Promise<Mirror> | undefined
  readonly #startedIn = new WeakMap<Run, Mirror>()
  readonly #onReplaced: (found: Standing) => void

  constructor(file: string, open: Mirror, onReplaced: (found: Standing) => void) {
    this.#onReplaced = onReplaced
    this.#file = file
    this.#open = open
  }

  get standing(): Standing {
    return this.#open?.standing() ?? (isMissing(this.#file) ? 'none' : 'another')
  }

  async latest(): Promise<Mirror> {
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
  async there(): Promise<Mirror> {
    if (this.#opening === undefined && this.standing === 'none') throw replaced(this.#file, 'none')
    return await this.latest()
  }

  began(run: Run, mirror: Mirror): void {
    this.#startedIn.set(run, mirror)
  }

  /** The mirror in which a run began. */
  of(run: Run): Mirror {
    const begun = this.#startedIn.get(run)
    if (begun === undefined || begun !== this.#open) throw replaced(this.#file, 'another')
    return begun
  }

  async close(): Promise<void> {
    await this.#opening?.catch(() => {})
    await this.#open?.close()
  }
}
