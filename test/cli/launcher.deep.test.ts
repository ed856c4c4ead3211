import { spawn } from 'node:child_process'
import { execPath } from 'node:process'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { LAUNCHER } from '../support/run-cli.ts'

test('SIGUSR1 opens no debugger', async () => {
  const args = ['sync', '--config', '/nowhere/customer-mirror.yaml']
  const child = spawn(execPath, ['--import', signalledAtLoad(), LAUNCHER, ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))

  expect(await text(child.stderr)).toMatch(/^\/nowhere\/customer-mirror.yaml does not exist/)
})

/** Sends SIGUSR1 to the process in which the program is about to be loaded. */
function signalledAtLoad(): string {
  return `data:text/javascript,${encodeURIComponent(`
    import { registerHooks } from 'node:module'
    registerHooks({
      load(url, context, next) {
        if (url.endsWith('/cli/main.ts')) process.kill(process.pid, 'SIGUSR1')
        return next(url, context)
      },
    })`)}`
}
