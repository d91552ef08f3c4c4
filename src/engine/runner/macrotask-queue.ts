import type { Host } from "../../ports/host.ts"

/** Something that wants to go on when a macrotask has passed. */
export interface Runnable {
  /** Set by the queue: whether it is in line already. */
  inLine: boolean
  pump(): void
}

/** So many go on in one macrotask; the others in the next ones. */
const beatMax = 512

/**
 * The heartbeat that all resident instances share. Releasing an entry to workflow code needs a macrotask to pass before the
 * next; one macrotask serves everybody in line, and what they recorded meanwhile is committed together after it.
 */
export class MacrotaskQueue {
  readonly #host: Host
  readonly #afterBeat: () => void
  #line: Runnable[] = []
  #armed = false
  /** Called at the end of every beat. */
  onBeat: () => void = () => undefined

  constructor(host: Host, afterBeat: () => void) {
    this.#host = host
    this.#afterBeat = afterBeat
  }

  /** Nothing is in line and no beat is due. */
  get idle(): boolean {
    return !this.#armed
  }

  /** How many are in line. */
  get waiting(): number {
    return this.#line.length
  }

  join(member: Runnable): void {
    if (member.inLine) return
    member.inLine = true
    this.#line.push(member)
    this.arm()
  }

  /** Asks for a beat even if nobody is in line: something waits to be committed. */
  arm(): void {
    if (this.#armed) return
    this.#armed = true
    this.#host.quiesce(this.#beat, true)
  }

  readonly #beat = (): void => {
    this.#armed = false
    const all = this.#line
    const line = all.length > beatMax ? all.slice(0, beatMax) : all
    this.#line = all.slice(beatMax)
    if (this.#line.length > 0) this.arm()
    for (const member of line) {
      member.inLine = false
      try {
        member.pump()
      } catch (error) {
        this.#host.log.error("an instance failed to go on; the others do", { error })
      }
    }
    this.#afterBeat()
    this.onBeat()
  }
}
