import { readFileSync, readlinkSync } from 'node:fs'

/**
 * Names the start of this machine, and with it that of the monotonic clock: processes with the same name read the same time. All
 * containers of a machine share it; after a restart the machine has another one, and no two machines have the same. Undefined where
 * the system does not say.
 */
export function bootName(): string | undefined {
  boot ??= { name: readBoot() }
  return boot.name
}

/** Cached, because it never changes within the process and every saved page needs it. */
let boot: { name: string | undefined } | undefined

function readBoot(): string | undefined {
  try {
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}/${readlinkSync('/proc/self/ns/time')}`
  } catch {
    return undefined
  }
}
