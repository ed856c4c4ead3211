/** Which database a statement is written for. */
export type Kind = 'sqlite' | 'postgres'

/** What may stand in a statement: a value, which is always a parameter, or a part of a statement. */
export type Part = Sql | Fork | string | number | boolean | null | undefined | Uint8Array | readonly unknown[]

/** A statement, or a part of one, with its values. */
export class Sql {
  readonly texts: readonly string[]
  readonly parts: readonly Part[]

  constructor(texts: readonly string[], parts: readonly Part[]) {
    this.texts = texts
    this.parts = parts
  }
}

/** What the databases say in different words. */
export class Fork {
  readonly sqlite: Sql
  readonly postgres: Sql

  constructor(sqlite: Sql, postgres: Sql) {
    this.sqlite = sqlite
    this.postgres = postgres
  }
}

/** A statement: sql`SELECT * FROM runs WHERE id = ${id}`. */
export function sql(texts: TemplateStringsArray, ...parts: readonly Part[]): Sql {
  return new Sql(texts, parts)
}

/** Text of a statement as it is: a name, or a condition of this program; never what someone else wrote. */
export function text(words: string): Sql {
  return new Sql([words], [])
}

export function either(sqlite: Sql | string, postgres: Sql | string): Fork {
  return new Fork(asSql(sqlite), asSql(postgres))
}

/** Parts with a text between them. */
export function joined(parts: readonly Part[], between = ', '): Sql {
  if (parts.length === 0) return text('')
  return new Sql(['', ...parts.slice(1).map(() => between), ''], parts)
}

function asSql(part: Sql | string): Sql {
  return typeof part === 'string' ? text(part) : part
}

/** A statement as a database takes it. */
export type Written = { text: string; values: unknown[] }

export function written(statement: Sql, kind: Kind): Written {
  const into: Written = { text: '', values: [] }
  write(statement, kind, into)
  return into
}

function write({ texts, parts }: Sql, kind: Kind, into: Written): void {
  into.text += texts[0] ?? ''
  for (let at = 0; at < parts.length; at += 1) {
    const part = parts[at]
    if (part instanceof Sql) write(part, kind, into)
    else if (part instanceof Fork) write(part[kind], kind, into)
    else {
      into.values.push(kind === 'sqlite' && typeof part === 'boolean' ? Number(part) : (part ?? null))
      into.text += kind === 'sqlite' ? '?' : `$${into.values.length}`
    }
    into.text += texts[at + 1] ?? ''
  }
}

/** A name in a statement. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
