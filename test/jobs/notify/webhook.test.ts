import { expect, test } from 'vitest'
import { webhookHeaders } from '../../../jobs/notify/notifier.ts'

test('a message is signed as Standard Webhooks have it: the vector of their libraries', () => {
  const message = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', body: '{"test": 2432232314}' }
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

  expect(webhookHeaders(message, { unixSeconds: 1614265330, secret })).toEqual({
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  })
})

test('without a secret there is no signature', () => {
  expect(webhookHeaders({ id: 'a', body: '{}' }, { unixSeconds: 1, secret: undefined })).toEqual({
    'webhook-id': 'a',
    'webhook-timestamp': '1',
  })
})
