/** What a soak is doing. Where it does not get on, it ends. */
export type Progress = { doing: (what: string) => void; stop: () => void }

/**
 * Ends a soak that has not ended after `lastMs`: it says what it was doing and what was still open, kills its processes, and exits with 1.
 * The one who waits for its result always gets one.
 */
export function watchProgress(
  { workers, redis, postgres, folder }: Watched,
  { lastMs, seed, say, exit }: { lastMs: number; seed: string; say: (text: string) => void; exit: (code: 1) => void },
): Progress {
  let what = 'starting'
  const timer = setTimeout(() => {
    const open = [...Map.groupBy(process.getActiveResourcesInfo(), (kind) => kind)]
    say(
      `The soak FAILED: it has not ended after ${Math.round(lastMs / 60_000)} minutes, while ${what}. Still open: ` +
        `${open.map(([kind, each]) => `${each.length} ${kind}`).join(', ')}. Seed ${seed}; everything is kept in ${folder}\n`,
    )
    for (const { lives } of workers) for (const life of lives) life.process.kill('SIGKILL')
    const killed = Promise.allSettled([redis?.kill(), postgres?.kill()])
    void Promise.race([killed, new Promise((resolve) => setTimeout(resolve, KILL_MS))]).then(() => exit(1))
  }, lastMs).unref()
  return {
    doing: (now) => {
      what = now
    },
    stop: () => clearTimeout(timer),
  }
}

/** The processes of a soak, and the folder with its files. */
type Watched = {
  workers: readonly { lives: readonly { process: { kill: (signal: 'SIGKILL') => unknown } }[] }[]
  redis: { kill: () => Promise<unknown> } | undefined
  postgres: { kill: () => Promise<unknown> } | undefined
  folder: string
}

const KILL_MS = 2000
