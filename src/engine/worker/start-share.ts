/** New starts get one in so many places, however many instances wake up; else instances that have begun go first. */
const placesPerStart = 8

/** Counts the places that were given out, and says which of the next ones are for new starts. */
export class StartShare {
  #given: number

  /** `given`: where to begin to count. Workers that live for one claim begin anywhere, so that new starts get their share of many of them. */
  constructor(given = 0) {
    this.#given = given % placesPerStart
  }

  /** How many of so many places are for new starts. */
  of(places: number): number {
    return Math.floor((this.#given + places) / placesPerStart)
  }

  give(places: number): void {
    this.#given = (this.#given + places) % placesPerStart
  }
}
