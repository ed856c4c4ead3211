import { spawn } from 'node:child_process'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../bench/free-port.ts'
import { bucketAddressText } from '../../src/config/publish.ts'
import { openS3Store } from '../../src/copies/objects/s3-store.ts'
import { aBucketPlan, BUCKET, publishInto } from '../support/bucket-server.ts'
import { eventually } from '../support/eventually.ts'
import { rowsOf } from '../support/mirror-file.ts'
import { aMirrorOfNights } from '../support/publishing.ts'
import { aBlock, aReaderMachine, withPython } from '../support/reader-machine.ts'

test('the page reads from the address that the plan of these tests publishes to', () => {
  expect(aBlock('Object storage').text).toContain(`${bucketAddressText(aBucketPlan('customers.db').to)}/`)
})

withPython('moto', ['moto.server', 'duckdb', 'duckdb_extensions', 'duckdb_extension_httpfs'], (python) => {
  /** Moto's S3 on this machine, with an empty bucket. */
  async function aMotoBucket() {
    const port = await freePort()
    const server = spawn(python, ['-m', 'moto.server', '-H', '127.0.0.1', '-p', String(port)], { stdio: 'ignore' })
    onTestFinished(() => void server.kill('SIGKILL'))
    const endpoint = `http://127.0.0.1:${port}`
    const make = () =>
      fetch(`${endpoint}/${BUCKET}`, { method: 'PUT' }).then(
        ({ ok }) => ok,
        () => false,
      )
    await eventually(make, (isMade) => isMade)
    const env = { AWS_ACCESS_KEY_ID: 'writer', AWS_SECRET_ACCESS_KEY: 'of the writer', AWS_ENDPOINT_URL_S3: endpoint }
    return { address: `127.0.0.1:${port}`, env }
  }

  test('DuckDB reads from an S3 server what was published, as the page shows it', async () => {
    const { address, env } = await aMotoBucket()
    const mirror = await aMirrorOfNights()
    const plan = aBucketPlan(mirror)
    const service = { env, objects: new Map(), uploads: new Map(), requests: [], fault: undefined, endpoint: '' }
    await publishInto(service, plan)
    const { values } = await aReaderMachine({ python })
    const block = aBlock('Object storage')
    const here = `REGION 'eu-central-1', ENDPOINT '${address}', URL_STYLE 'path', USE_SSL false`
    const [languages, count] = await values(
      { ...block, text: block.text.replace("REGION 'eu-central-1'", here) },
      'languages.fetchall()',
      'customers.aggregate("count(*)").fetchall()',
    )
    const expected = `SELECT organization, language, count(*) FROM active_customers GROUP BY 1, 2 ORDER BY 1, 2 NULLS LAST`

    expect(block.text).toContain(`${bucketAddressText(plan.to)}/`)
    expect(languages).toEqual(rowsOf(mirror, expected).map((row) => Object.values(row)))
    expect(count).toEqual([[32]])
  })

  test('Moto lets one of two publishers write the manifest', async () => {
    const { env } = await aMotoBucket()
    const store = openS3Store({ to: { bucket: BUCKET, prefix: 'x' } }, env)
    onTestFinished(() => store.close())
    const first = await store.replaceText('manifest.json', 'first', undefined)
    const again = await store.replaceText('manifest.json', 'again', undefined)
    const { version } = (await store.readText('manifest.json')) ?? {}
    const second = await store.replaceText('manifest.json', 'second', version)
    const late = await store.replaceText('manifest.json', 'late', version)

    expect([first, again, second, late]).toEqual([true, false, true, false])
    expect((await store.readText('manifest.json'))?.text).toBe('second')
    await store.ask()
  })
})
