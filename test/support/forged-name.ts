import type { SentRecord } from './builders.ts'

/**
 * The name with which `record` would have the fingerprint of `target` if fingerprints had no key, found in 0.3 s of search. The
 * steps of such a fingerprint are below. Each step can be inverted, and both halves of the state take the same two characters
 * in a step, so that three steps of a name lead from the state before it to the state that the following fields need.
 */
export function forgedName(record: SentRecord, target: SentRecord): string {
  const fields = Object.keys(record)
  const length = 12
  const begin = fields
    .slice(0, fields.indexOf('name'))
    .reduce<State>((state, field) => after(state, field, String(record[field])), BEGINNING)
  const end = fields
    .slice(fields.indexOf('name') + 1)
    .reduceRight<State>((state, field) => before(state, field, String(record[field])), stateOf(target))
  // Six readable characters, and six computed ones: two free ones, two free ones from the end, two in the middle.
  const start = unitsOf('Harmle').reduce(step, headed(begin, 'name', length))
  const middle = new Map<number, { units: number; state: State }>()
  for (let units = 0; units < TRIES; units += 1) {
    const state = step(start, readable(units))
    middle.set(state[0] ^ state[1], { units: readable(units), state })
  }
  for (let units = 0; units < TRIES; units += 1) {
    const [first, second] = undone(unstep(end, readable(units)))
    const met = middle.get(first ^ second)
    const between = met === undefined ? 0 : met.state[0] ^ first
    const name = met === undefined ? '' : `Harmle${textOf([met.units, between, readable(units)])}`
    if (name !== '' && name.isWellFormed()) return name
  }
  throw new Error('No such name was found among those tried.')
}

const TRIES = 2 ** 18

/** Two letters of some language, from a number. */
function readable(index: number): number {
  return (0x4e00 + (index & 0x3ff)) | ((0x4e00 + (index >>> 10)) << 16)
}

type State = [number, number]
const BEGINNING: State = [0x2545_f491, 0x4f6c_dd1d]
const [FIRST, SECOND] = [0x9e37_79b1, 0x85eb_ca77]
const TEXT = 0x1234_5678

function stateOf(record: SentRecord): State {
  return Object.entries(record).reduce<State>((state, [field, value]) => after(state, field, String(value)), BEGINNING)
}

function after(state: State, field: string, text: string): State {
  return unitsOf(text).reduce(step, headed(state, field, text.length))
}

function before(state: State, field: string, text: string): State {
  const [first, second] = unitsOf(text).reduceRight((later, units) => unstep(later, units), state)
  const name = hashOf(field)
  return [
    Math.imul(Math.imul(first, INVERSE_FIRST) ^ text.length, INVERSE_FIRST) ^ name[0] ^ TEXT,
    Math.imul(Math.imul(second, INVERSE_SECOND) ^ text.length, INVERSE_SECOND) ^ name[1],
  ]
}

function headed([first, second]: State, field: string, length: number): State {
  const name = hashOf(field)
  return [
    Math.imul(Math.imul(first ^ name[0] ^ TEXT, FIRST) ^ length, FIRST),
    Math.imul(Math.imul(second ^ name[1], SECOND) ^ length, SECOND),
  ]
}

function hashOf(field: string): State {
  return Array.from(field, (_, index) => field.charCodeAt(index)).reduce<State>(step, [field.length, field.length])
}

function step([first, second]: State, units: number): State {
  return [stirred(first ^ units, FIRST, 15), stirred(second ^ units, SECOND, 13)]
}

function unstep(state: State, units: number): State {
  const [first, second] = undone(state)
  return [first ^ units, second ^ units]
}

/** The state before the last step, still mixed with the two characters of that step. */
function undone([first, second]: State): State {
  return [unstirred(first, INVERSE_FIRST, 15), unstirred(second, INVERSE_SECOND, 13)]
}

function stirred(bits: number, factor: number, shift: number): number {
  const product = Math.imul(bits, factor)
  return product ^ (product >>> shift)
}

function unstirred(bits: number, inverse: number, shift: number): number {
  let product = bits
  for (let known = shift; known < 32; known += shift) product = bits ^ (product >>> shift)
  return Math.imul(product, inverse)
}

const [INVERSE_FIRST, INVERSE_SECOND] = [inverseOf(FIRST), inverseOf(SECOND)]

/** The multiplicative inverse of an odd number, modulo 2^32. */
function inverseOf(odd: number): number {
  let inverse = odd
  for (let bits = 3; bits < 32; bits *= 2) inverse = Math.imul(inverse, 2 - Math.imul(odd, inverse))
  return inverse
}

function unitsOf(text: string): number[] {
  const units: number[] = []
  for (let index = 0; index < text.length; index += 2) {
    units.push(text.charCodeAt(index) | (index + 1 < text.length ? text.charCodeAt(index + 1) << 16 : 0))
  }
  return units
}

function textOf(units: readonly number[]): string {
  return String.fromCharCode(...units.flatMap((two) => [two & 0xffff, two >>> 16]))
}
