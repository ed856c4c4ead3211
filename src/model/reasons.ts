/** Every reason why a scan is not proven, with the sentence that explains it. */
export const REASON_MEANINGS = {
  'link-broken': 'Two neighbouring pages shared no customer, so customers between them may have been missed.',
  'order-unstable': 'The same customers came in a different order from one page to the next.',
  'no-witness':
    'No field that never changes orders the list, so customers who changed their position while it was read may have been missed.',
  'no-overlap':
    'The service does not offer page sizes that let neighbouring pages overlap, so nothing links the pages.',
  'size-refused': 'The service refused or ignored the page size asked for.',
  'short-page': 'A page had fewer customers than its size, although the total says that more follow.',
  'total-mismatch': 'The total that the service reports was missing, or did not match the rows it sent.',
  hole: 'At least one position of the list could not be read: ask the owner of the service what is wrong there.',
  'page-mismatch': 'The service answered with another page, or with more rows, than requested.',
  'repeated-page': 'The service answered with the same page under different numbers.',
  'cached-answer':
    'Pages came from a cache, also when they were asked for in another size: they are older than the request, and prove nothing about the list now.',
  'too-large':
    'A page was larger than the limit of 16 MiB or of a million values, and could not be read in smaller pages.',
  'page-cap': 'The scan reached its limit of requests before the end of the list.',
  'duplicate-id': 'One page listed the same customer twice.',
  'rejected-without-id': 'A record without a readable id was received; it might be any of the missing customers.',
  'plain-scan': 'The configuration asks for a plain scan, which proves nothing.',
  interrupted: 'The scan was stopped before it had read the whole list.',
  contradicted: 'A search found a customer that the scan had not received, so the scan did not read the whole list.',
  'older-list':
    'The newest known customers are absent and no newer one is listed: they are gone, or the list is older than the last one read.',
  'capped-total':
    'The total seems to be a limit of the service, so more customers may follow: ask its provider whether lists and totals stop there.',
  'offset-limit': 'The service shows only the first customers of the list, and refuses the pages behind them.',
  'unequal-replicas':
    'The totals that the service reports rise and fall, as where one of its databases lags behind another: some customers may be in none of the pages.',
  'shape-changed':
    'Many records have lost a field, or are rejected, that were good before. What is stored is kept until a person accepts it (customer-mirror accept), or the service is repaired.',
  quick: 'A quick run reads only the pages on which something seems to have changed, so it proves nothing.',
  'request-limit': 'The run reached its limit of requests before it had found every change.',
  'not-confirmed':
    'Customers left their places, and it is open whether they left the list: they are not marked as missing, and a later run decides.',
  'no-order': 'The order of the list is not remembered, so the run could not know where to look.',
} as const

export type Reason = keyof typeof REASON_MEANINGS
