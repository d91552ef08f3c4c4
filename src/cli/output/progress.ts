import { formatDuration } from "../../core/time/duration.ts"
import type { Io } from "../io.ts"
import { isColourful, styleOf, type Style } from "./style.ts"

const drawEveryMs = 80
const barMax = 40

/** `  42% ███████▌        420 of 1,000  3 failed  12s left`, no wider than the terminal. */
export function progressLine(state: ProgressState, width: number, style: Style): string {
  const { done, failed, total, elapsedMs } = state
  const share = total === 0 ? 1 : done / total
  const left = done === 0 || done === total ? "" : `  ${formatDuration(Math.ceil(((elapsedMs / done) * (total - done)) / 1000) * 1000)} left`
  const counts = `${done.toLocaleString("en")} of ${total.toLocaleString("en")}`
  const failures = failed === 0 ? "" : `  ${failed.toLocaleString("en")} failed`
  const percent = `${Math.floor(share * 100)}%`.padStart(4)
  const cells = Math.min(barMax, width - percent.length - counts.length - failures.length - left.length - 4)
  const bar = cells < 5 ? "" : `${style.green("█".repeat(Math.floor(share * cells)))}${style.dim("░".repeat(cells - Math.floor(share * cells)))}  `
  return `${percent} ${bar}${counts}${style.red(failures)}${style.dim(left)}`
}

export interface ProgressState {
  readonly done: number
  readonly failed: number
  readonly total: number
  readonly elapsedMs: number
}

/** A moving bar on stderr. It writes nothing if stderr is no terminal. */
export class Progress {
  readonly #io: Io
  readonly #total: number
  readonly #startedAt: number
  readonly #style: Style
  #drawnAt = -Infinity

  constructor(io: Io, total: number) {
    this.#io = io
    this.#total = total
    this.#startedAt = io.now()
    this.#style = styleOf(isColourful(io, io.stderr))
  }

  update(done: number, failed: number): void {
    const now = this.#io.now()
    if (this.#io.stderr.isTTY !== true || (done < this.#total && now - this.#drawnAt < drawEveryMs)) return
    this.#drawnAt = now
    const state = { done, failed, total: this.#total, elapsedMs: now - this.#startedAt }
    this.#io.stderr.write(`\r\u001b[K${progressLine(state, (this.#io.stderr.columns ?? 80) - 1, this.#style)}`)
  }

  /** Empties the line for the next output. */
  clear(): void {
    if (this.#drawnAt !== -Infinity) this.#io.stderr.write("\r\u001b[K")
    this.#drawnAt = -Infinity
  }
}
