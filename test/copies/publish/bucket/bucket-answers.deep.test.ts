import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import {
  aBucketPlan,
  aStaleBucket,
  type BucketRequest,
  ONCE,
  publishInto,
  rowsThatAreWhole,
} from '../../../support/bucket-server.ts'

const QUICK = { ...ONCE, requestMs: 500 }

const isManifest = ({ method, key }: BucketRequest) => method === 'GET' && key.endsWith('manifest.json')
const isList = ({ method, key, query }: BucketRequest) => method === 'GET' && key === '' && !query.has('uploads')

/** An answer that never ends, byte by byte, so that the connection is never silent. */
function drip(response: ServerResponse, start: string): void {
  response.write(start)
  const timer = setInterval(() => response.write(' '), 20)
  response.on('close', () => clearInterval(timer))
}

/** An answer that never ends, as fast as it is read. */
function flood(response: ServerResponse): void {
  const chunk = Buffer.alloc(1024 * 1024, ' ')
  const go = () => {
    while (!response.destroyed && response.write(chunk));
  }
  response.on('drain', go)
  go()
}

test.each<[string, (request: BucketRequest) => boolean, (response: ServerResponse) => void, string]>([
  ['manifest that comes byte by byte', isManifest, (response) => drip(response, '{'), 'gone'],
  ['list that comes byte by byte', isList, (response) => drip(response, '<ListBucketResult>'), 'gone'],
  ['manifest without end', isManifest, flood, ''],
])('a %s is given up', async (_, isIt, send, code) => {
  const { mirror, bucket } = await aStaleBucket()
  bucket.fault = (request, response) => {
    if (!isIt(request)) return false
    send(response)
    return true
  }

  const wanted = code === '' ? { code: expect.stringMatching(/^(usage|gone)$/) } : { code }
  await expect(publishInto(bucket, aBucketPlan(mirror.file), QUICK)).rejects.toMatchObject(wanted)
  expect(rowsThatAreWhole(bucket)).toEqual([5, 5])
})
