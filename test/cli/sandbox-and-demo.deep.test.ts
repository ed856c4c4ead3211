import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { valueOf } from '../support/mirror-file.ts'
import { startCli } from '../support/run-cli.ts'
import { temporaryFolder } from '../support/temp-folder.ts'

test('a demo that is stopped ends with 130, and its files are sound', async () => {
  const cwd = temporaryFolder()
  const demo = startCli(['demo'], { cwd, env: withMadeQueue(join(cwd, 'data/demo/queue')) })
  await demo.lineOnStderr(/asked to slow down/)
  demo.send('SIGINT')
  const { code, stderr } = await demo.ended

  expect(code).toBe(130)
  expect(stderr).toMatch(/^globex +stopped: /m)
  expect(valueOf(join(cwd, 'data', 'demo', 'customers.db'), 'PRAGMA integrity_check')).toBe('ok')
  const written = z
    .object({ mirror: z.string() })
    .parse(parse(readFileSync(join(cwd, 'data/demo/customer-mirror.yaml'), 'utf8')))
  expect(written.mirror).toBe('./customers.db')
})

/** An environment in which a demo finds its queue made, once it has cleared away and says where it listens: to make one takes seconds. */
function withMadeQueue(folder: string): Record<string, string> {
  const program = `
    import { cpSync } from 'node:fs'
    const write = process.stderr.write
    process.stderr.write = function (text, ...more) {
      if (String(text).includes('listens at')) cpSync(${JSON.stringify(inject('queueTemplate'))}, ${JSON.stringify(folder)}, { recursive: true })
      return write.call(this, text, ...more)
    }`
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(program)}` }
}
