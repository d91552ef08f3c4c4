/** An input of an instance: a message, the end of an attempt or a nested ask. The loop of the runner handles one input at a time. */
export interface RunnerInput {
  /** `isGated`: nothing is released to the code now, for example because the instance is paused. */
  handle(isGated: boolean): void
}
