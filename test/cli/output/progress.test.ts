import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { showProgress } from '../../../src/cli/output/progress.ts'

test('an unexpected error ends the command, after the other organizations are done', async () => {
  const done: string[] = []
  const work = async ({ id }: { id: string }) => {
    if (id === 'acme') throw new TypeError('a defect')
    done.push(id)
    throw new Error('another')
  }

  await expect(showProgress([{ id: 'acme' }, { id: 'globex' }], new PassThrough(), work)).rejects.toThrow('a defect')

  expect(done).toEqual(['globex'])
})
