import { watch, type FSWatcher } from 'node:fs'
import { basename, dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FollowedConfig } from './followed-config.ts'
import type { Reconcile } from '../schedule/reconciler.ts'
import type { Timings } from '../timings.ts'
import { oneAtATime } from '../one-at-a-time.ts'

export type ConfigWatch = {
  /** Reads the file at once, as a user asks for it. */
  readNow: () => void
  stop: () => void
}

type Watching = { reconcile: Reconcile; timings: Pick<Timings, 'configLookMs' | 'acceptedLookMs'> }

/**
 * Reads the configuration again when its file changes, however it is replaced, and looks now and then which configuration is accepted.
 * The folder is watched, because a watcher of a file that is replaced reports nothing more. File systems that report no changes, and
 * links that lead elsewhere, are covered by looking at the file every second.
 */
export function watchConfig(followed: FollowedConfig, { reconcile, timings }: Watching): ConfigWatch {
  const { live } = followed
  const { file } = live.current
  let stopped = false
  /** The first look finds what was read at the start, or what was written at that moment. */
  let isFirst = true
  const lookAtFile = oneAtATime(readIfChanged)
  let folder = watchFolder()
  const compare = () => void reconcile()
  followed.onNews(compare)

  function watchFolder(): FSWatcher | undefined {
    try {
      const watcher = watch(dirname(file), { persistent: false }, (_event, name) => {
        // Kubernetes changes where the link `..data` leads.
        if (name === null || name === basename(file) || name.startsWith('..')) void lookAtFile()
      })
      return watcher.on('error', () => watcher.close())
    } catch {
      return undefined
    }
  }

  async function readIfChanged(): Promise<void> {
    let state = await live.fileState()
    if (stopped || live.hasRead(state)) return
    // A program may write the file in several steps.
    for (let looks = 1; looks <= MOST_SETTLING; looks += 1) {
      const before = state
      await sleep(SETTLE_MS)
      state = await live.fileState()
      if (state === before) break
    }
    // A user may have asked for it meanwhile.
    if (!live.hasRead(state)) await followed.refresh(isFirst ? undefined : 'saved')
    isFirst = false
    if (stopped) return
    // The folder may be another one now.
    folder?.close()
    folder = watchFolder()
  }

  const timers = [
    setInterval(() => void lookAtFile(), timings.configLookMs),
    setInterval(() => void followed.look().catch(() => {}), timings.acceptedLookMs),
  ]
  return {
    readNow: () => void followed.refresh('asked').then(compare),
    stop: () => {
      stopped = true
      folder?.close()
      for (const timer of timers) clearInterval(timer)
    },
  }
}

const SETTLE_MS = 100
const MOST_SETTLING = 5
