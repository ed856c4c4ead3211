import { factsOf, type TextField } from './customer.ts'

/** A column that readers may rely on: later versions may add columns, never rename or drop one. */
export type PublicColumn = {
  name: string
  /** The declared type in SQL. JSON is text. */
  type: 'TEXT' | 'INTEGER' | 'DATETIME' | 'BOOLEAN'
  meaning: string
  /** `service`: as the service sent it; `mirror`: written or derived by the mirror. */
  source: 'service' | 'mirror'
  nullable: boolean
  /** Whether it may hold personal data of a customer. */
  personal: boolean
}

export function organization(): PublicColumn {
  return own('organization', 'TEXT', 'organization, as named in the configuration')
}

export function extra(): PublicColumn {
  const column = own('extra', 'TEXT', 'JSON object of the fields that the specification does not know; NULL if none')
  return personal({ ...orNull(column), source: 'service' })
}

/** A documented field, as sent. */
export function sent(field: 'id' | TextField): PublicColumn {
  const { meaning, isPersonal } = factsOf(field)
  const asSent = field === 'id' ? meaning : `${meaning}, as sent; NULL when null or missing`
  return { name: field, type: 'TEXT', meaning: asSent, source: 'service', nullable: false, personal: isPersonal }
}

export function own(name: string, type: PublicColumn['type'], meaning: string): PublicColumn {
  return { name, type, meaning, source: 'mirror', nullable: false, personal: false }
}

export function orNull(column: PublicColumn): PublicColumn {
  return { ...column, nullable: true }
}

export function personal(column: PublicColumn): PublicColumn {
  return { ...column, personal: true }
}
