type Line = {
  level: string
  msg: string
  report?: { organization: string; received: number }
  error?: { code: string }
}

/** The lines of a log; throws where one is no JSON. */
export const linesOf = (text: string): Line[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line): Line => JSON.parse(line))
