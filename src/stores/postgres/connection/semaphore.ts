/** So many at a time; more wait in line. */
export class Places {
  readonly #line: (() => void)[] = []
  #free: number

  constructor(count: number) {
    this.#free = count
  }

  async take(): Promise<void> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>((resolve) => this.#line.push(resolve))
  }

  giveBack(): void {
    const next = this.#line.shift()
    if (next) next()
    else this.#free++
  }
}
