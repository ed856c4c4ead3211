/** Whether other processes than its worker reach the queue at this address: an embedded one is open in its worker alone. */
export function isSharedQueue(address: string | undefined): address is string {
  return address !== undefined && address !== 'embedded'
}
