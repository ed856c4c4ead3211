/** Everything that can stand between a scan and its proof, each with the sentence that explains it. */
const EXPLANATIONS = {
  'link-broken': 'Two neighbouring pages shared no customer, so customers between them may have been missed.',
  'order-unstable': 'The same customers came in a different order from one page to the next.',
  'not-quiet':
    'Customers changed their position while the list was read, and it follows no order that could vouch for them.',
  ties: 'Too many customers carry the same creation time for neighbouring pages to meet at two different ones.',
  'no-overlap': 'The page sizes on offer do not let neighbouring pages overlap, so nothing links them.',
  'size-refused': 'The service refused or ignored the page size asked for.',
  'capped-size': 'The service serves smaller pages than asked for; the scan went on with its size.',
  'short-page': 'A page read fewer customers than its size although the total says that more follow.',
  'total-mismatch': 'The total the service states was missing or disagreed with the rows it served.',
  hole: 'At least one position could not be read at any attempt.',
  'page-mismatch': 'The service answered with another page, or with more rows, than asked for.',
  'repeated-page': 'The service answered with the same page under different numbers.',
  'cached-answer':
    'Pages came out of a cache, made before they were asked for, and in another size too: they say nothing about now.',
  'too-large': 'A page was larger than the 16 MiB an answer may have, and could not be read in smaller ones.',
  'page-cap': 'The scan reached its limit of requests before the end of the list.',
  'duplicate-id': 'One page listed the same customer twice.',
  'rejected-without-id': 'A record without a readable id was received, and it might be any customer that is missing.',
  'not-converged': 'Pass after pass kept finding new customers, or a total that did not equal those found.',
  'plain-scan': 'The configuration asks for a plain scan, which proves nothing.',
  'page-limit': 'The run was asked to stop after a number of pages.',
  interrupted: 'The scan was stopped before it had read the whole list.',
  'empty-list': 'The list is empty.',
  contradicted: 'A search found a customer that the scan had not received, so the scan did not read the whole list.',
  'older-list':
    'The newest known customers are absent and no newer one is listed: they are gone, or the list is older than the last one read.',
} as const

export type Reason = keyof typeof EXPLANATIONS

/** All the reasons there are. */
export const REASONS: readonly Reason[] = Object.keys(EXPLANATIONS).filter(isReason)

/** One sentence for people. */
export function explainReason(reason: Reason): string {
  return EXPLANATIONS[reason]
}

/** Tells a stored text apart from a reason this version knows. */
export function isReason(text: string): text is Reason {
  return Object.hasOwn(EXPLANATIONS, text)
}
