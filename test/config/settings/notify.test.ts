import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { acme, configOf, mistakesIn } from '../configuration-folder.ts'

const withNotify = (notify: string) => `notify: ${notify}\n${acme()}`

describe('notify and heartbeat in the configuration', () => {
  test('without them nothing is sent', async () => {
    expect(await configOf(acme())).toMatchObject({ notify: undefined, heartbeat: undefined })
  })

  test('all settings; the file of the secret is relative to the folder of the configuration', async () => {
    const text = withNotify('{ url: "https://hooks.example.com/x?y=1", secret: { file: ./secret }, only: failures }')
    const { file, notify, heartbeat } = await configOf(`heartbeat: { url: "http://127.0.0.1:9/ping" }\n${text}`)

    expect(notify).toEqual({
      url: new URL('https://hooks.example.com/x?y=1'),
      secret: { file: join(dirname(file), 'secret') },
      only: 'failures',
    })
    expect(heartbeat).toEqual({ url: new URL('http://127.0.0.1:9/ping') })
  })

  test.each([
    ['{}', 'notify.url: is missing'],
    ['{ url: hooks.example.com }', 'notify.url: must be an https URL such as'],
    ['{ url: "http://hooks.example.com/t0ken" }', 'notify.url: must be an https URL (plain http'],
    ['{ url: "https://me:t0ken@hooks.example.com" }', 'notify.url: must not hold a user name or password'],
    ['{ url: "https://hooks.example.com/#t0ken" }', 'notify.url: must not hold a #'],
    ['{ url: "https://x.example", secret: t0ken }', 'notify.secret: must not be written into this file'],
    ['{ url: "https://x.example", secret: { env: A, file: b } }', 'notify.secret: must have either env or file'],
    ['{ url: "https://x.example", only: failure }', 'notify.only: must be failures, or left out'],
    ['{ url: "https://x.example", sekret: { env: A } }', 'notify.sekret: unknown key (did you mean "secret"?)'],
  ])('%s', async (written, mistake) => {
    const mistakes = (await mistakesIn(withNotify(written))).join('\n')

    expect(mistakes).toContain(mistake)
    expect(mistakes).not.toContain('t0ken')
  })
})
