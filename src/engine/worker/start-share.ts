/** New starts get one in so many places, however many instances wake up; else instances that have begun go first. */
const placesPerStart = 8

/** Counts the places that were given out, and says which of the next ones are for new starts. */
export class StartShare {
  #counted: number

  /** `given`: where to begin to count. Workers that live for one claim begin anywhere, so that new starts get their share of many of them. */
  constructor(counted = 0) {
    this.#counted = counted % placesPerStart
  }

  /** How many of so many places are for new starts. */
  startsAmong(places: number): number {
    return Math.floor((this.#counted + places) / placesPerStart)
  }

  count(places: number): void {
    this.#counted = (this.#counted + places) % placesPerStart
  }
}
