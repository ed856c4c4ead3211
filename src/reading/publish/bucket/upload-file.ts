import { createHash } from 'node:crypto'
import { readSync } from 'node:fs'
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  UploadPartCommand,
  type S3Client,
} from '@aws-sdk/client-s3'
import pLimit from 'p-limit'
import { errorNameOf } from './store-error.ts'

/** How many parts of a file are in memory at a time. */
const PARTS_AT_ONCE = 2

/** The place of an object. */
export type Place = { Bucket: string; Key: string }
type OpenFile = { descriptor: number; bytes: number; partBytes: number }

/**
 * Writes an object from an open file, in parts where it is large. A reader sees all of it or nothing; parts that were sent before a
 * failure are removed. Returns false where another process removed them meanwhile.
 */
export async function uploadFile(client: S3Client, place: Place, file: OpenFile): Promise<boolean> {
  const type = { ContentType: 'application/vnd.apache.parquet' }
  if (file.bytes <= file.partBytes) {
    await client.send(new PutObjectCommand({ ...place, ...type, ...partOf(file, 0) }))
    return true
  }
  const { UploadId } = await client.send(new CreateMultipartUploadCommand({ ...place, ...type }))
  const upload = { ...place, UploadId }
  try {
    const Parts = await sendParts(client, upload, file)
    await client.send(new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts } }))
    return true
  } catch (error) {
    if (errorNameOf(error) === 'NoSuchUpload') return false
    await client.send(new AbortMultipartUploadCommand(upload)).catch(() => undefined)
    throw error
  }
}

type Upload = Place & { UploadId: string | undefined }
type SentPart = { PartNumber: number; ETag: string | undefined }

/** The first part that fails keeps the others from being sent; its error is thrown when none is under way any more. */
async function sendParts(client: S3Client, upload: Upload, file: OpenFile): Promise<SentPart[]> {
  const limit = pLimit(PARTS_AT_ONCE)
  let hasFailed = false
  const send = async (PartNumber: number): Promise<SentPart | undefined> => {
    if (hasFailed) return undefined
    try {
      const part = partOf(file, (PartNumber - 1) * file.partBytes)
      const { ETag } = await client.send(new UploadPartCommand({ ...upload, ...part, PartNumber }))
      return { PartNumber, ETag }
    } catch (error) {
      hasFailed = true
      throw error
    }
  }
  const numbers = Array.from({ length: Math.ceil(file.bytes / file.partBytes) }, (_, place) => place + 1)
  const ended = await Promise.allSettled(numbers.map((number) => limit(() => send(number))))
  const failed = ended.find((each) => each.status === 'rejected')
  if (failed !== undefined) throw failed.reason
  return ended.flatMap((each) => (each.status === 'fulfilled' && each.value !== undefined ? [each.value] : []))
}

function partOf({ descriptor, bytes, partBytes }: OpenFile, position: number): { Body: Buffer; ContentMD5: string } {
  const Body = Buffer.alloc(Math.min(partBytes, bytes - position))
  for (let filled = 0; filled < Body.length;) {
    const read = readSync(descriptor, Body, filled, Body.length - filled, position + filled)
    if (read === 0) throw new Error('a temporary file is shorter than what was written to it')
    filled += read
  }
  return { Body, ContentMD5: md5Of(Body) }
}

/** The checksum of a content, as a service compares it. */
export function md5Of(content: string | Buffer): string {
  return createHash('md5').update(content).digest('base64')
}
