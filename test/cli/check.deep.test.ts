import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { checked } from '../support/commands.ts'

test.each(['redis', 'postgres'])('a server of a %s queue that does not answer is given up', async (kind) => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  const { code, stdout } = await checked({ queue: `${kind}://127.0.0.1:${port}/${kind === 'redis' ? 0 : 'jobs'}` })

  expect(code).toBe(5)
  expect(stdout).toMatch(/^✖ queue: .* cannot be used: (no answer within 2 s|.*time)/m)
})
