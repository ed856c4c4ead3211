import { html } from 'hono/html'
import { expect, test } from 'vitest'
import { framed } from '../../src/page/frame.ts'

test('a text from outside neither turns what stands around it on a page, nor hides it, nor is markup', async () => {
  const page = await framed({ title: 'a\u202Eb' }, html`<p>${'<b>\u200B\u001B[31m\u2066'}</p>`)

  expect(page).toContain(String.raw`<title>a\u202eb</title>`)
  expect(page).toContain(String.raw`&lt;b&gt;\u200b\u001b[31m\u2066`)
})
