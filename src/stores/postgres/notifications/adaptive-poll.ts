const pollMsMin = 200
const pollMsMax = 2_000

/** Polls while no notifications arrive: often while this process is active, and rarely when it is quiet. */
export class AdaptivePoll {
  readonly #look: () => void
  #timer: ReturnType<typeof setTimeout> | undefined
  #ms = pollMsMin

  constructor(look: () => void) {
    this.#look = look
  }

  get isOn(): boolean {
    return this.#timer !== undefined
  }

  start(): void {
    if (!this.isOn) this.#wait()
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /** This process has done something, so other processes may soon react to it. */
  speedUp(): void {
    if (this.#ms <= 2 * pollMsMin) return void (this.#ms = pollMsMin)
    this.#ms = pollMsMin
    if (!this.isOn) return
    this.stop()
    this.#wait()
  }

  #wait(): void {
    this.#timer = setTimeout(() => {
      this.#look()
      this.#ms = Math.min(this.#ms * 1.5, pollMsMax)
      this.#wait()
    }, this.#ms).unref()
  }
}
