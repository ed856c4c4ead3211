import { below, pick, seededRandom, uuid } from './random.ts'
import type { Random } from './random.ts'

/** A customer as the service sends it: the ten documented fields, all strings. */
export type ServiceCustomer = {
  id: string
  name: string
  username: string
  email: string
  phone: string
  address: string
  company_name: string
  language: string
  timezone: string
  created_at: string
}

/**
 * Made-up customers in order of creation, oldest first, no two in the same second. Their ids have no order. The same seed and
 * count give the same customers.
 */
export function generateCustomers({ seed, count }: { seed: string; count: number }): ServiceCustomer[] {
  const random = seededRandom(seed)
  const gapMs = (LAST_CREATED_MS - FIRST_CREATED_MS) / Math.max(count, 1)
  return Array.from({ length: count }, (_, index) => customer(random, index, FIRST_CREATED_MS + index * gapMs, gapMs))
}

function customer(random: Random, index: number, fromMs: number, gapMs: number): ServiceCustomer {
  const [given, plainGiven] = pick(random, GIVEN_NAMES)
  const family = pick(random, FAMILY_NAMES)
  const username = `${plainGiven}.${family.toLowerCase()}${index + 1}`
  const [language, ...timezones] = pick(random, LANGUAGES)
  return {
    id: uuid(random),
    name: `${given} ${family}`,
    username,
    email: `${username}@example.com`,
    phone: phone(random),
    address: address(random),
    company_name: `${pick(random, COMPANY_WORDS)} ${pick(random, COMPANY_FORMS)}`,
    language,
    timezone: pick(random, timezones),
    // Only the first half of the gap, so that neighbours stay at least a second apart.
    created_at: isoSecond(fromMs + (below(random, 1000) / 2000) * gapMs),
  }
}

/** In the block 555-0100 to 555-0199, which is reserved for fiction. */
function phone(random: Random): string {
  return `+1-${200 + below(random, 800)}-555-01${digits(below(random, 100), 2)}`
}

function address(random: Random): string {
  const street = `${1 + below(random, 999)} ${pick(random, STREETS)}`
  return `${street}, 00${digits(below(random, 1000), 3)} ${pick(random, TOWNS)}`
}

function digits(value: number, length: number): string {
  return String(value).padStart(length, '0')
}

/** A time in the form of Laravel's timestamps, with microseconds. */
export function isoSecond(unixMs: number): string {
  return `${new Date(unixMs).toISOString().slice(0, 19)}.000000Z`
}

const FIRST_CREATED_MS = Date.UTC(2019, 0, 1)
const LAST_CREATED_MS = Date.UTC(2024, 0, 1)

/** A name, and its form in a username. */
const GIVEN_NAMES = [
  ['Alba', 'alba'],
  ['Bruno', 'bruno'],
  ['Chloé', 'chloe'],
  ['Dmitri', 'dmitri'],
  ['Ευδοκία', 'evdokia'],
  ['François', 'francois'],
  ['花子', 'hanako'],
  ['Ingrid', 'ingrid'],
  ['Jürgen', 'jurgen'],
  ['Keiko', 'keiko'],
  ['Łucja', 'lucja'],
  ['Mateo', 'mateo'],
  ['Niamh', 'niamh'],
  ['Óscar', 'oscar'],
  ['Priya', 'priya'],
  ['Søren', 'soren'],
  ['Thandiwe', 'thandiwe'],
  ['Ümit', 'umit'],
  ['Yusuf', 'yusuf'],
  ['Zoë', 'zoe'],
] as const

const FAMILY_NAMES = [
  'Bogusworth',
  'Demowski',
  'Dummington',
  'Examplez',
  'Fakenham-Test',
  "O'Fixture",
  'Fictivesson',
  'Loremipsum',
  'Mockinghausen',
  'Nonesuch',
  'Placeholderova',
  'Pretendini',
  'Samplesen',
  'Specimenko',
  'Stubbingford',
  'Testdottir',
] as const

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

const COMPANY_WORDS = ['Fictional', 'Imaginary', 'Invented', 'Made-up', 'Nonexistent', 'Placeholder', 'Sample'] as const
const COMPANY_FORMS = ['& Daughters', 'Bakery', 'GmbH', 'Ltd', 'Outfitters', 'SARL', 'Trading Co.', 'Workshop'] as const
const STREETS = ['Example Street', 'Fixture Lane', 'Placeholder Avenue', 'Sample Road', 'Test Crescent'] as const
const TOWNS = ['Demoville', 'Exampleton', 'Mockford', 'Nowhere', 'Sampleburgh', 'Teststadt'] as const
