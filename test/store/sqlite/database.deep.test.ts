import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { execPath } from 'node:process'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { openMirror } from '../../../src/store/mirror.ts'
import { temporaryFolder } from '../../support/mirror-file.ts'

test('a mirror that another program is making is missing or there, never a file of another program', async () => {
  const folder = temporaryFolder()
  const files = Array.from({ length: 30 }, (_, number) => join(folder, `${number}.db`))
  const args = ['--input-type=module', '--eval', OPEN_EACH, ...files]
  const reader = spawn(execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const said = text(reader.stdout)
  await once(reader.stdout, 'readable')

  for (const file of files) await (await openMirror(file)).close()

  expect(JSON.parse((await said).trim())).toEqual(['missing'])
})

/** Opens each of the files that it is given as soon as it is there, and prints which codes the errors until then had. */
const OPEN_EACH = `
  const { openMirrorToRead } = await import(${JSON.stringify(new URL('../../../src/store/mirror.ts', import.meta.url))})
  const codes = new Set()
  const open = (file) => openMirrorToRead(file).catch((error) => void codes.add(error.code))
  await open(process.argv[1])
  process.stdout.write(' ')
  for (const file of process.argv.slice(1)) {
    let mirror
    while (mirror === undefined) mirror = await open(file)
    await mirror.close()
  }
  process.stdout.write(JSON.stringify([...codes]))`
