/** A place in a bucket. The prefix has no slash at its ends, and is empty for the bucket itself. */
export type BucketAddress = { bucket: string; prefix: string }

/** Whether a text is meant as an address in object storage, and not as a path. */
export function isBucketAddress(text: string): boolean {
  return /^s3:/i.test(text)
}

/** `s3://bucket/prefix`, or a sentence about its mistake. */
export function parseBucketAddress(text: string): BucketAddress | { problem: string } {
  const [, bucket, path = ''] = /^s3:\/\/([^/]*)(?:\/(.*))?$/s.exec(text) ?? []
  if (bucket === undefined) return { problem: FORM }
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$/.test(bucket))
    return { problem: `${FORM}; the name of a bucket has 3 to 63 letters, digits, dots and dashes` }
  const prefix = path.replace(/\/+$/, '')
  const isClean = /^[A-Za-z0-9._=/-]*$/.test(prefix) && prefix.length <= LONGEST_PREFIX
  const hasGap = prefix !== '' && prefix.split('/').some((step) => ['', '.', '..'].includes(step))
  if (isClean && !hasGap) return { bucket, prefix }
  return {
    problem: `names a prefix that not every program reads: use letters, digits and . _ - = between single slashes, at most ${LONGEST_PREFIX}`,
  }
}

const FORM = 'must be an address such as s3://bucket/prefix'

/** Keys may have 1,024 bytes; this leaves room for the names of organizations and of objects. */
const LONGEST_PREFIX = 500

/** The address as a person writes it. */
export function bucketAddressText({ bucket, prefix }: BucketAddress): string {
  return prefix === '' ? `s3://${bucket}` : `s3://${bucket}/${prefix}`
}
