import { z } from 'zod'
import { exactUrl, holdsCredentials, isInTheClear } from '../../address/http-address.ts'
import { converted, secretReferenceForm, type ReferenceForm } from '../values.ts'

/** Where each night is reported, as configured. */
export type NotifySettings<Reference> = { url: URL; secret: Reference | undefined; only: 'failures' | undefined }

/** What is asked for after each night that went well, as configured. */
export type HeartbeatSettings = { url: URL }

const address = converted(parseAddress)

/** Where the worker reports each night, in the configuration. */
export const notify = z.strictObject({
  url: address.meta({
    description: 'Where to send a report of each night, as one POST of JSON with counts and reasons.',
    format: 'uri',
    examples: ['https://hooks.example.com/customer-mirror'],
  }),
  secret: secretReferenceForm('must not be written into this file: write { env: NAME } or { file: path }')
    .exactOptional()
    .meta({ description: 'Where the secret is kept that signs it: whsec_ and base64, as Standard Webhooks have it.' }),
  only: z.enum(['failures']).exactOptional().meta({
    description: 'Report only nights in which not every organization was read to its end.',
  }),
})

/** A dead-man switch, in the configuration. */
export const heartbeat = z.strictObject({
  url: address.meta({
    description:
      'The address to request, with one GET, after each night in which every organization was read to its end.',
    format: 'uri',
    examples: ['https://hc-ping.com/00000000-0000-0000-0000-000000000000'],
  }),
})

/** The settings, with the secret where `referenceTo` says; undefined where nothing is to be reported. */
export function notifySettings<Reference>(
  written: z.output<typeof notify> | undefined,
  referenceTo: (form: ReferenceForm) => Reference,
): NotifySettings<Reference> | undefined {
  if (written === undefined) return undefined
  const { url, secret, only } = written
  return { url, secret: secret && referenceTo(secret), only }
}

/** Sentences never repeat the text, which may hold a token. */
function parseAddress(text: string): URL | { problem: string } {
  const url = exactUrl(text)
  if (url === undefined) return { problem: NO_ADDRESS }
  if (holdsCredentials(url)) return { problem: 'must not hold a user name or password' }
  if (url.hash !== '') return { problem: 'must not hold a #: what follows it is never sent' }
  return isInTheClear(url) ? { problem: 'must be an https URL (plain http is accepted for this machine only)' } : url
}

const NO_ADDRESS = 'must be an https URL such as https://hooks.example.com/customer-mirror'
