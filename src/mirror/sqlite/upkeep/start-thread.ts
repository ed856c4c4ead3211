import { Worker } from 'node:worker_threads'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'

/** What the thread can do: each resolves whether it was done. */
export type UpkeepTask = 'checkpoint' | 'index'

/** What the thread is started with: the file, and which one it must be. */
export type UpkeepFile = { file: string; identity: string | undefined }

export type UpkeepThread = {
  /** Resolves whether the thread did it; rejects when the thread has ended. */
  ask(task: UpkeepTask): Promise<boolean>
  /** Lets the thread finish what it does and close the file. */
  close(): Promise<void>
}

/** TypeScript in a checkout, and compiled in an installed package. */
const PROGRAM = new URL(`upkeep-thread${extname(fileURLToPath(import.meta.url))}`, import.meta.url)

/** Starts the thread for a mirror that is open. It does not keep this process alive while nothing is asked of it. */
export function startThread(workerData: UpkeepFile): UpkeepThread {
  const thread = new Worker(PROGRAM, { workerData })
  const asked: PromiseWithResolvers<boolean>[] = []
  const ended = Promise.withResolvers<void>()
  thread.unref()
  thread.on('message', (isDone: boolean) => {
    asked.shift()?.resolve(isDone)
    if (asked.length === 0) thread.unref()
  })
  // Its end follows.
  thread.on('error', () => {})
  thread.once('exit', () => {
    ended.resolve()
    for (const { reject } of asked.splice(0)) reject(new Error('the thread has ended'))
  })
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  const send = (message: UpkeepTask | 'close') => thread.postMessage(message)
  let hasEnded = false
  void ended.promise.then(() => (hasEnded = true))

  return {
    ask(task) {
      if (hasEnded) return Promise.reject(new Error('the thread has ended'))
      const asking = Promise.withResolvers<boolean>()
      asked.push(asking)
      thread.ref()
      send(task)
      return asking.promise
    },
    async close() {
      thread.ref()
      send('close')
      await ended.promise
    },
  }
}
