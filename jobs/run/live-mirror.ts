import type { Run } from '../../src/run.ts'
import type { Mirror } from '../../src/store.ts'
import { openMirror, replaced } from '../../src/mirror/mirror.ts'

/**
 * The mirror at `file` for a process that lives long: where the file was replaced, the one that is there now is opened, and
 * where it was deleted, the next run makes a new one. Runs that began in the file before end as `mirror-replaced`.
 */
export async function openLiveMirror(file: string): Promise<Mirror> {
  let open: Mirror | undefined = await openMirror(file)
  let opening: Promise<Mirror> | undefined
  const startedIn = new WeakMap<Run, Mirror>()

  async function reopen(): Promise<Mirror> {
    const before = open
    open = undefined
    // Its journal is to be gone before another file is opened beside it.
    await before?.close()
    return (open = await openMirror(file))
  }
  async function latest(): Promise<Mirror> {
    if (open?.standing() === 'same') return open
    return await (opening ??= reopen().finally(() => {
      opening = undefined
    }))
  }
  /** To read from; where the file was deleted, there is nothing to be read. */
  async function there(): Promise<Mirror> {
    if (open?.standing() === 'none') throw replaced(file, 'none')
    return latest()
  }
  /** The one in which a run began. */
  function of(run: Run): Mirror {
    const begun = startedIn.get(run)
    if (begun === undefined || begun !== open) throw replaced(file, 'another')
    return begun
  }

  return {
    file,
    standing: () => open?.standing() ?? 'none',
    async startRun(start) {
      const mirror = await latest()
      const run = await mirror.startRun(start)
      startedIn.set(run, mirror)
      return run
    },
    savePages: async (run, pages, nowMs) => of(run).savePages(run, pages, nowMs),
    renewLease: async (run, nowMs) => of(run).renewLease(run, nowMs),
    recallWindows: async (run) => of(run).recallWindows(run),
    findRemovalCandidates: async (run, ending) => of(run).findRemovalCandidates(run, ending),
    findListed: async (run, most) => of(run).findListed(run, most),
    finishRun: async (run, ending, nowMs) => of(run).finishRun(run, ending, nowMs),
    findKnownElsewhere: async (organization, ids) => (await there()).findKnownElsewhere(organization, ids),
    listRuns: async (filter) => (await there()).listRuns(filter),
    findRun: async (id) => (await there()).findRun(id),
    listHeldRemovals: async () => (await there()).listHeldRemovals(),
    approveRemovals: async (runId, nowMs) => (await there()).approveRemovals(runId, nowMs),
    discardRemovals: async (runId) => (await there()).discardRemovals(runId),
    listRejects: async (filter) => (await there()).listRejects(filter),
    listFreshness: async () => (await there()).listFreshness(),
    listLastRuns: async () => (await there()).listLastRuns(),
    findDamage: async () => (await there()).findDamage(),
    async close() {
      await opening?.catch(() => {})
      await open?.close()
    },
  }
}
