/** A text that was written somewhere, with the name of the place. */
export type Written = { place: string; text: string }

/** Places that hold personal data of a customer, a key or a secret. What was found there is not repeated. */
export function personalData(written: readonly Written[]): string[] {
  return written.flatMap(({ place, text }) =>
    PATTERNS.filter(([, pattern]) => pattern.test(text)).map(([what]) => `${place} holds ${what}`),
  )
}

/** Those that src/service makes up. */
const FAMILY_NAMES =
  /Bogusworth|Demowski|Dummington|Examplez|Fakenham|O'Fixture|Fictivesson|Loremipsum|Mockinghausen|Nonesuch|Placeholderova|Pretendini|Samplesen|Specimenko|Stubbingford|Testdottir/i

const PATTERNS = [
  ['an e-mail address of a customer', /[\w.'’-]+@example\.com/],
  ['a phone number of a customer', /\+1-\d{3}-555-01\d\d/],
  ['a name of a customer', FAMILY_NAMES],
  ['an API key', /soak_key_/],
  ['a secret', /soak_secret_/],
] as const

/** Lines of a worker's log that it must not write. */
export function alarms({ place, text }: Written): string[] {
  return text
    .split('\n')
    .filter((line) => ALARMS.some((alarm) => alarm.test(line)))
    .map((line) => `${place}: ${line.slice(0, 300)}`)
}

/** Also what Node prints of an error that nothing handles. */
const ALARMS = [/run failed unexpectedly/, /worker ended unexpectedly/, /"code":"unexpected"/, /^\s+at .*:\d+:\d+\)?$/]
