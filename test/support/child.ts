// Programs for tests that watch, stop or kill them: `node child.ts NAME ARGUMENT...`.
import { flushCompileCache, registerHooks } from 'node:module'
import { argv, stderr, stdout } from 'node:process'
import { PassThrough } from 'node:stream'
import { z } from 'zod'

const PROGRAMS: Readonly<Record<string, (...given: string[]) => Promise<void>>> = { work, write, load }

async function work(options: string): Promise<void> {
  const { runWorker } = await import('../../jobs/worker.ts')
  // Killed, it would keep nothing of what was compiled for the next one, which starts in half the time with it.
  flushCompileCache()
  const given = z.object({ config: z.string(), timings: z.record(z.string(), z.number()) }).parse(JSON.parse(options))
  const stopping = new AbortController()
  process.umask(0o077)
  process.on('SIGTERM', () => {
    process.exitCode = 143
    stopping.abort()
  })
  await runWorker(
    { ...given, embedded: false, http: { host: '127.0.0.1', port: 0 }, logLevel: 'info' },
    { signal: stopping.signal, stderr },
  )
  // Timers of the queue must not keep it.
  setTimeout(() => process.exit(), 500).unref()
}

/** Begins to write a file, says where, and never ends. */
async function write(file: string): Promise<void> {
  const { beginFile } = await import('../../src/copies/written-file.ts')
  const begun = beginFile(file)
  stdout.write(`${begun.path}\n`)
  // A lock that nothing can release any more goes with what held it, as soon as V8 looks for that.
  setInterval(() => begun, 1000)
}

/** Runs command lines one after the other, and writes the packages that were loaded until the end of each. */
async function load(...lines: string[]): Promise<void> {
  const packages = new Set<string>()
  registerHooks({
    load(url, context, next) {
      const [, name] = /.*\/node_modules\/([^/]+)\//.exec(url) ?? []
      if (name !== undefined) packages.add(name)
      return next(url, context)
    },
  })
  const { runProgram } = await import('../../src/cli/program.ts')
  const loaded: string[][] = []
  for (const line of lines) {
    const [out, err] = [new PassThrough().resume(), new PassThrough().resume()]
    const { signal } = new AbortController()
    await runProgram(line.split(' '), {
      signal,
      stdout: out,
      stderr: err,
      exitWith: (code) => (process.exitCode = code),
    })
    loaded.push([...packages])
  }
  stdout.write(JSON.stringify(loaded))
}

const [, , name = '', ...given] = argv
await PROGRAMS[name]?.(...given)
