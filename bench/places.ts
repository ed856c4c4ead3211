import { cp, open, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Databases } from './postgres/databases.ts'

/** Where programs keep what they write: in files, or in databases of a server. */
export type Places = {
  /** An empty place. */
  make(name: string): Promise<string>
  /** A copy of a place that was made, on the disk before it is used. */
  copy(from: string, name: string): Promise<string>
  /** What happens to a place between two nights. */
  rest(name: string): Promise<void>
  forget(name: string): Promise<void>
}

export function files(folder: string): Places {
  const at = (name: string) => join(folder, `${name}.db`)
  const forget = async (name: string) => {
    for (const file of [at(name), `${at(name)}-wal`, `${at(name)}-shm`])
      await rm(file, { recursive: true, force: true })
  }
  const make = async (name: string) => {
    await forget(name)
    return at(name)
  }
  return {
    make,
    async copy(from, name) {
      const to = await make(name)
      await copyToDisk(at(from), to)
      return to
    },
    rest: async () => {},
    forget,
  }
}

/** They end with their server. */
export function inDatabases(databases: Databases): Places {
  const named = (name: string) => name.toLowerCase().replaceAll(/\W+/g, '_')
  return {
    make: (name) => databases.make(named(name)),
    copy: (from, name) => databases.copy(named(from), named(name)),
    rest: (name) => databases.rest(named(name)),
    forget: async () => {},
  }
}

/** Waits until the copy is on the disk: what is measured next must not pay for it. */
async function copyToDisk(from: string, to: string): Promise<void> {
  await cp(from, to, { recursive: true })
  // No limit depends on a tool that keeps a folder, so a few milliseconds do not matter.
  if ((await stat(to)).isDirectory()) return
  const handle = await open(to, 'r+')
  await handle.sync()
  await handle.close()
}
