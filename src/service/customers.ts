import { createHash } from 'node:crypto'
import type { TextField } from '../model/customer.ts'

/** A customer as the service sends it: the ten documented fields, all strings. */
export type ServiceCustomer = { id: string } & Record<TextField, string>

/** Made-up customers, oldest first, no two in the same second, and with ids in no order: the same ones for the same seed and count. */
export function generateCustomers({ seed, count }: { seed: string; count: number }): ServiceCustomer[] {
  const random = seededRandom(seed)
  const gapMs = (LAST_CREATED_MS - FIRST_CREATED_MS) / Math.max(count, 1)
  return Array.from({ length: count }, (_, index) => customer(random, index, FIRST_CREATED_MS + index * gapMs, gapMs))
}

function customer(random: Random, index: number, fromMs: number, gapMs: number): ServiceCustomer {
  const given = pick(random, GIVEN_NAMES)
  const family = pick(random, FAMILY_NAMES)
  const plainGiven = given.normalize('NFD').replaceAll(/[^A-Za-z]/g, '') || 'x'
  const username = `${plainGiven}.${family}${index + 1}`.toLowerCase()
  const [language, ...timezones] = pick(random, LANGUAGES)
  return {
    id: uuid(random),
    name: `${given} ${family}`,
    username,
    email: `${username}@example.com`,
    // In the block 555-0100 to 555-0199, which is reserved for fiction.
    phone: `+1-${200 + below(random, 800)}-555-0${100 + below(random, 100)}`,
    address: `${1 + below(random, 999)} ${pick(random, STREETS)}, ${String(below(random, 1000)).padStart(5, '0')} ${pick(random, TOWNS)}`,
    company_name: `${pick(random, COMPANY_WORDS)} ${pick(random, COMPANY_FORMS)}`,
    language,
    timezone: pick(random, timezones),
    // Only the first half of the gap, so that neighbours stay at least a second apart.
    created_at: isoSecond(fromMs + (below(random, 1000) / 2000) * gapMs),
  }
}

/** A time in the form of Laravel's timestamps, with microseconds. */
export function isoSecond(unixMs: number): string {
  return `${new Date(unixMs).toISOString().slice(0, 19)}.000000Z`
}

const FIRST_CREATED_MS = Date.UTC(2019, 0, 1)
const LAST_CREATED_MS = Date.UTC(2024, 0, 1)

const GIVEN_NAMES = words(
  'Alba Bruno Chloé Dmitri Ευδοκία François 花子 Ingrid Jürgen Keiko Łucja Mateo Niamh Óscar Priya Søren Thandiwe Ümit Yusuf Zoë',
)

const FAMILY_NAMES = words(
  "Bogusworth Demowski Dummington Examplez Fakenham-Test O'Fixture Fictivesson Loremipsum Mockinghausen Nonesuch " +
    'Placeholderova Pretendini Samplesen Specimenko Stubbingford Testdottir',
)

/** A language code, then the time zones of its speakers. */
const LANGUAGES = [
  ['en', 'America/New_York', 'Europe/London', 'Australia/Sydney'],
  ['fr', 'Europe/Paris', 'Europe/Brussels'],
  ['es', 'Europe/Madrid', 'America/Bogota'],
  ['de', 'Europe/Berlin', 'Europe/Vienna'],
  ['it', 'Europe/Rome'],
  ['pt', 'America/Sao_Paulo', 'Europe/Lisbon'],
  ['nl', 'Europe/Amsterdam'],
  ['ja', 'Asia/Tokyo'],
] as const

const COMPANY_WORDS = words('Fictional Imaginary Invented Made-up Nonexistent Placeholder Sample')
const COMPANY_FORMS = ['& Daughters', 'Bakery', 'GmbH', 'Ltd', 'Outfitters', 'SARL', 'Trading Co.', 'Workshop'] as const
const STREETS = ['Example Street', 'Fixture Lane', 'Placeholder Avenue', 'Sample Road', 'Test Crescent'] as const
const TOWNS = words('Demoville Exampleton Mockford Nowhere Sampleburgh Teststadt')

function words(text: string): readonly [string, ...string[]] {
  const [first = '', ...others] = text.split(' ')
  return [first, ...others]
}

/** The next unsigned 32-bit number of a sequence. */
export type Random = () => number

/** The same sequence for the same seed on every machine (sfc32): with 128 bits of state, so that two organizations do not share ids. */
export function seededRandom(seed: string): Random {
  const digest = createHash('sha256').update(seed).digest()
  let a = digest.readInt32LE(0)
  let b = digest.readInt32LE(4)
  let c = digest.readInt32LE(8)
  let counter = digest.readInt32LE(12)
  return () => {
    const mixed = (a + b + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (((c << 21) | (c >>> 11)) + mixed) | 0
    return mixed >>> 0
  }
}

/** A whole number from 0, less than `limit`. */
export function below(random: Random, limit: number): number {
  return Math.floor((random() / 2 ** 32) * limit)
}

export function pick<Items extends readonly [unknown, ...unknown[]]>(random: Random, items: Items): Items[number] {
  return items[below(random, items.length)] ?? items[0]
}

function uuid(random: Random): string {
  const hex = [random(), random(), random(), random()].map((word) => word.toString(16).padStart(8, '0')).join('')
  const variant = '89ab'.charAt(below(random, 4))
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`
}
