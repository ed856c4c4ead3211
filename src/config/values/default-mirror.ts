/** Where the mirror is if the configuration names none, beside the configuration. */
export const DEFAULT_MIRROR = './data/customers.db'
