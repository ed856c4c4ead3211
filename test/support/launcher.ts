import { fileURLToPath } from 'node:url'

/** The file that `customer-mirror` starts. */
export const LAUNCHER = fileURLToPath(new URL('../../src/cli/customer-mirror.mjs', import.meta.url))
