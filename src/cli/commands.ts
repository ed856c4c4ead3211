import type { CommandUnknownOpts } from '@commander-js/extra-typings'
import type { Io } from './io.ts'

type Loader = (io: Io) => Promise<CommandUnknownOpts>

/** In the order of the help. */
const LOADERS: Readonly<Record<string, Loader>> = {
  init: async (io) => (await import('./init.ts')).initCommand(io),
  check: async (io) => (await import('./check.ts')).checkCommand(io),
  sync: async (io) => (await import('./sync.ts')).syncCommand(io),
  worker: async (io) => (await import('./worker.ts')).workerCommand(io),
  run: async (io) => (await import('./run.ts')).runCommand(io),
  cancel: async (io) => (await import('./cancel.ts')).cancelCommand(io),
  pause: async (io) => (await import('./pause.ts')).pauseCommand(io),
  resume: async (io) => (await import('./resume.ts')).resumeCommand(io),
  queue: async (io) => (await import('./queue.ts')).queueCommand(io),
  schedule: async (io) => (await import('./schedule.ts')).scheduleCommand(io),
  status: async (io) => (await import('./status.ts')).statusCommand(io),
  runs: async (io) => (await import('./runs.ts')).runsCommand(io),
  rejects: async (io) => (await import('./rejects.ts')).rejectsCommand(io),
  removals: async (io) => (await import('./removals.ts')).removalsCommand(io),
  organizations: async (io) => (await import('./organizations.ts')).organizationsCommand(io),
  forget: async (io) => (await import('./forget.ts')).forgetCommand(io),
  query: async (io) => (await import('./query.ts')).queryCommand(io),
  sql: async (io) => (await import('./sql.ts')).sqlCommand(io),
  export: async (io) => (await import('./export.ts')).exportCommand(io),
  publish: async (io) => (await import('./publish.ts')).publishCommand(io),
  backup: async (io) => (await import('./backup.ts')).backupCommand(io),
  restore: async (io) => (await import('./restore.ts')).restoreCommand(io),
  move: async (io) => (await import('./move.ts')).moveCommand(io),
  signing: async (io) => (await import('./signing.ts')).signingCommand(io),
  schema: async (io) => (await import('./schema.ts')).schemaCommand(io),
  sandbox: async (io) => (await import('./sandbox.ts')).sandboxCommand(io),
  demo: async (io) => (await import('./demo.ts')).demoCommand(io),
}

/** The command named by the first word of a command line; all commands if it names none, for help and suggestions. */
export async function loadCommands(firstWord: string | undefined, io: Io): Promise<CommandUnknownOpts[]> {
  const loaders =
    firstWord !== undefined && Object.hasOwn(LOADERS, firstWord) ? [LOADERS[firstWord]] : Object.values(LOADERS)
  return Promise.all(loaders.flatMap((load) => (load === undefined ? [] : [load(io)])))
}
