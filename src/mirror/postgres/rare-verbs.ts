import type { Mirror } from '../../store.ts'
import { isPrivacyOwed } from '../rules/policy-of-rows.ts'
import type { Database } from './session.ts'

type Rare = Pick<Mirror, 'forgetCustomer' | 'readmitCustomer' | 'prune' | 'applyPrivacy' | 'listPrivacy'>

/** Verbs that few commands and runs need: each is loaded when it is called. */
export function rareVerbs(database: Database): Rare {
  const forget = async () => (await import('./forget/forget.ts')).forgetting(database)
  const privacy = async () => (await import('./privacy/privacy-verbs.ts')).privacyVerbs(database)
  return {
    forgetCustomer: async (asked) => (await forget()).forgetCustomer(asked),
    readmitCustomer: async (asked) => (await forget()).readmitCustomer(asked),
    prune: async (...args) => (await import('./retention/prune.ts')).prune(database, ...args),
    applyPrivacy: async (run, nowMs) => {
      if (!isPrivacyOwed(run)) return false
      return (await privacy()).applyPrivacy(run, nowMs)
    },
    listPrivacy: async () => (await privacy()).listPrivacy(),
  }
}
