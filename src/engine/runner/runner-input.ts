/** Something that came to an instance, and is taken in when its turn comes. `gated`: nothing is released to the code now. */
export interface RunnerInput {
  handle(gated: boolean): void
}
