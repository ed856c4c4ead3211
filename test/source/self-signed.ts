import { generateKeyPairSync, sign } from 'node:crypto'

/** A new key and a self-signed certificate for 127.0.0.1, which no client trusts. */
export function selfSigned(): { key: string; cert: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const ecdsaWithSha256 = der(0x30, oid('2a8648ce3d040302'))
  const name = der(0x30, der(0x31, der(0x30, oid('550403'), der(0x0c, Buffer.from('127.0.0.1')))))
  const validity = der(0x30, der(0x17, Buffer.from('240101000000Z')), der(0x17, Buffer.from('490101000000Z')))
  const addressOf = der(0x30, der(0x87, Buffer.from([127, 0, 0, 1])))
  const extensions = der(0xa3, der(0x30, der(0x30, oid('551d11'), der(0x04, addressOf))))
  const body = der(
    0x30,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    ecdsaWithSha256,
    name,
    validity,
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    extensions,
  )
  const signature = der(0x03, Buffer.from([0]), sign('sha256', body, privateKey))
  const certificate = der(0x30, body, ecdsaWithSha256, signature).toString('base64').replace(/.{64}/g, '$&\n')
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${certificate}\n-----END CERTIFICATE-----\n`,
  }
}

function oid(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, 'hex'))
}

/** One value in DER: its tag, its length, its content. */
function der(tag: number, ...content: Buffer[]): Buffer {
  const body = Buffer.concat(content)
  const size = body.byteLength
  const length = size < 0x80 ? [size] : size < 0x100 ? [0x81, size] : [0x82, size >> 8, size & 0xff]
  return Buffer.concat([Buffer.from([tag, ...length]), body])
}
