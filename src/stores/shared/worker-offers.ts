import type { WorkerLease } from "../../ports/directory.ts"
import type { Offer } from "../../ports/journal-store.ts"

/** The offers of a worker as SQL stores keep them. */
export function offersText(offers: readonly Offer[]): string {
  return JSON.stringify(offers)
}

export function offersFrom(text: string | null | undefined): readonly Offer[] | undefined {
  return text === null || text === undefined ? undefined : (JSON.parse(text) as readonly Offer[])
}

export function withOffers(lease: WorkerLease, offers: readonly Offer[] | undefined): WorkerLease {
  return offers === undefined ? lease : { ...lease, offers }
}
