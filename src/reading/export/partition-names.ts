/** The folder of a partition, as Hive names it. */
export function partitionFolder(organization: string): string {
  return `organization=${organization === '' ? '__HIVE_DEFAULT_PARTITION__' : organization.replaceAll(ESCAPED, asHex)}`
}

// oxlint-disable-next-line no-control-regex -- control characters are among them
const ESCAPED = /[\x00-\x1F\x7F"#%'*/:=?\\{}[\]^]/g

function asHex(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
}
