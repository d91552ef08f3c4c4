/** New starts get one of this many places. All other places go to instances that have begun, as long as there are any. */
const placesPerStart = 8

/** Reserves a share of the places of claims and of step slots for new starts, so that instances that wake up cannot keep new ones waiting for ever. */
export class StartShare {
  #counted: number

  /** `counted`: where the count begins. A worker that lives for one claim begins at a random place, so new starts get their share over many such workers. */
  constructor(counted = 0) {
    this.#counted = counted % placesPerStart
  }

  /** How many of the next `places` places are for new starts. */
  startsAmong(places: number): number {
    return Math.floor((this.#counted + places) / placesPerStart)
  }

  count(places: number): void {
    this.#counted = (this.#counted + places) % placesPerStart
  }
}
