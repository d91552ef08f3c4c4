const pollMsMin = 200
const pollMsMax = 2_000

/** Looks again and again where nobody tells: often while something is going on here, and seldom when all is quiet. */
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

  /** Something has happened here: what comes of it elsewhere may come soon. */
  stir(): void {
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
