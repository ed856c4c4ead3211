import type { Dice } from './dice.ts'

/** What a hostile list is ordered by, at one time. */
export const ORDERS = [
  'id',
  'id backward',
  'created',
  'created backward',
  'created, ties shuffled',
  'name',
  'last change first',
  'last change last',
  'hidden',
  'hidden, moves rarely',
  'balance',
  'shuffled',
] as const
export type OrderName = (typeof ORDERS)[number]

export type Person = {
  readonly serial: number
  readonly id: string
  readonly createdAt: string | undefined
  readonly hasId: boolean
  hidden: number
  name: number
  balance: number
  changedAt: number
  edition: number
  readonly listedAt: number
  /** Since when it stands where it stands among the others. */
  placedAt: number
}

/** By which of its fields a customer stands where it stands. */
const KEYS: { [Name in OrderName]: (person: Person) => number | string } = {
  id: ({ id }) => id,
  'id backward': ({ id }) => id,
  created: ({ createdAt, serial }) => `${createdAt} ${serial + 1e6}`,
  'created backward': ({ createdAt, serial }) => `${createdAt} ${serial + 1e6}`,
  'created, ties shuffled': ({ createdAt }) => createdAt ?? '',
  name: ({ name }) => name,
  'last change first': ({ changedAt }) => -changedAt,
  'last change last': ({ changedAt }) => changedAt,
  hidden: ({ hidden }) => hidden,
  'hidden, moves rarely': ({ hidden }) => hidden,
  balance: ({ balance }) => balance,
  shuffled: () => 0,
}
const BACKWARD: ReadonlySet<OrderName> = new Set(['id backward', 'created backward'])
/** Equal customers stand in another order in each answer. */
const RESTLESS: ReadonlySet<OrderName> = new Set(['created, ties shuffled', 'shuffled'])

/** In these no customer ever takes another place, except among those of one creation time. */
const STEADY: ReadonlySet<OrderName> = new Set<OrderName>([
  'id',
  'id backward',
  'created',
  'created backward',
  'created, ties shuffled',
  'hidden',
])

export function isSteady(order: OrderName): boolean {
  return STEADY.has(order)
}

/** Rows above which none are added, so that a scan can end. */
const MOST_ROWS = 1500

/** A list of customers that changes by the moment, with a record of who kept their place. */
export class AdversaryList {
  readonly #dice: Dice
  order: OrderName
  people: Person[] = []
  moment = 0
  #made = 0
  #sorted: Person[] | undefined
  readonly #perSecond: number
  readonly #undated: number
  readonly #withoutId: number

  constructor(
    dice: Dice,
    order: OrderName,
    { size, undated, withoutId }: { size: number; undated: number; withoutId: number },
  ) {
    this.#dice = dice
    this.order = order
    this.#perSecond = 1 + dice.below(dice.chance(0.7) ? 4 : 60)
    this.#undated = undated
    this.#withoutId = withoutId
    for (let made = 0; made < size; made += 1) this.insert()
    this.moment += 1
  }

  shown(): Person[] {
    if (this.#sorted !== undefined && !RESTLESS.has(this.order)) return this.#sorted
    const key = KEYS[this.order]
    const direction = BACKWARD.has(this.order) ? -1 : 1
    const keyed = this.people.map((person) => ({ person, key: key(person), chance: this.#dice.next() }))
    const isRestless = RESTLESS.has(this.order)
    keyed.sort((one, other) => {
      if (one.key !== other.key) return (one.key < other.key ? -1 : 1) * direction
      return isRestless ? one.chance - other.chance : one.person.serial - other.person.serial
    })
    this.#sorted = keyed.map(({ person }) => person)
    return this.#sorted
  }

  insert(): Person | undefined {
    if (this.people.length >= MOST_ROWS) return undefined
    this.moment += 1
    this.#sorted = undefined
    this.#made += 1
    const serial = this.#made
    const dice = this.#dice
    const second = Math.floor(serial / this.#perSecond)
    const person = {
      serial,
      id: (Math.imul(serial, 0x9e_37_79_b1) >>> 0).toString(16).padStart(8, '0'),
      createdAt: dice.chance(this.#undated) ? undefined : new Date(1.7e12 + second * 1000).toISOString(),
      hasId: !dice.chance(this.#withoutId),
      hidden: dice.next(),
      name: dice.next(),
      balance: dice.next(),
      changedAt: this.moment + dice.next(),
      edition: 1,
      listedAt: this.moment,
      placedAt: this.moment,
    }
    this.people.push(person)
    return person
  }

  delete(person = this.some()): void {
    if (person === undefined) return
    this.moment += 1
    this.people = this.people.filter((other) => other !== person)
    this.#sorted = this.#sorted?.filter((other) => other !== person)
  }

  /** A customer is edited, and moves where the order follows what was edited. */
  edit(person = this.some()): void {
    if (person === undefined) return
    this.moment += 1
    person.edition += 1
    person.changedAt = this.moment
    const before = KEYS[this.order](person)
    person.name = this.#dice.next()
    person.balance = this.#dice.next()
    if (this.order === 'hidden, moves rarely' && this.#dice.chance(0.02)) person.hidden = this.#dice.next()
    const isByChange = this.order === 'last change first' || this.order === 'last change last'
    if (isByChange || KEYS[this.order](person) !== before) this.#moved(person)
  }

  /** A customer takes the place right behind another, or before all, where the order allows it. */
  place(person: Person, behind: Person | undefined): void {
    const shown = this.shown()
    const at = behind === undefined ? 0 : shown.indexOf(behind) + 1
    const [one, other] = [shown[at - 1], shown[at]]
    const between = (key: 'hidden' | 'name' | 'balance'): number => {
      const [low, high] = [one?.[key] ?? (other?.[key] ?? 1) - 1, other?.[key] ?? (one?.[key] ?? 0) + 1]
      return low + (high - low) / 2
    }
    this.moment += 1
    if (this.order === 'name') person.name = between('name')
    else if (this.order === 'balance') person.balance = between('balance')
    else if (this.order === 'hidden, moves rarely') person.hidden = between('hidden')
    else return
    person.edition += 1
    this.#moved(person)
  }

  /** All customers stand in another order from now on. */
  reorder(order: OrderName): void {
    this.moment += 1
    this.order = order
    this.#sorted = undefined
    for (const person of this.people) person.placedAt = this.moment
  }

  some(): Person | undefined {
    return this.people[this.#dice.below(this.people.length)]
  }

  /** Listed from that moment until now. */
  livedSince(moment: number): Person[] {
    return this.people.filter(({ listedAt }) => listedAt <= moment)
  }

  /** Whether it stood in one place among the others from that moment until now. */
  keptPlace({ placedAt, createdAt }: Person, moment: number): boolean {
    if (this.order === 'shuffled') return false
    if (this.order === 'created, ties shuffled')
      return this.people.filter((other) => other.createdAt === createdAt).length === 1
    return placedAt <= moment
  }

  #moved(person: Person): void {
    person.placedAt = this.moment
    this.#sorted = undefined
  }
}
