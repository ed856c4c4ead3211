import { partitionFolder } from '../../export/partition-names.ts'

/** The manifest of a prefix. */
export const MANIFEST = 'manifest.json'

/** What every object of customers begins with. */
export const OBJECTS = 'customers/'

/**
 * The key of an object below the prefix, such as `customers/organization=acme/customers-0000000012-9f2b….parquet`. Generations count the
 * manifests, so that of two objects of an organization the newer one is the last by name. The digest keeps two processes that publish
 * at once from writing the same object.
 */
export function objectKey(organization: string, generation: number, sha256: string): string {
  return `${OBJECTS}${partitionFolder(organization)}/customers-${String(generation).padStart(10, '0')}-${sha256.slice(0, 16)}.parquet`
}

/**
 * The generation in such a key; undefined for objects that this program did not write. With more digits, the next number would not be exact,
 * and a manifest with it could not be read again.
 */
export function generationOf(key: string): number | undefined {
  const [, digits] = /^customers\/organization=[^/]+\/customers-(\d{10,15})-[0-9a-f]{16}\.parquet$/.exec(key) ?? []
  return digits === undefined ? undefined : Number(digits)
}
