/** So many at a time; more wait in line. */
export class Semaphore {
  readonly #line: (() => void)[] = []
  #free: number

  constructor(count: number) {
    this.#free = count
  }

  async acquire(): Promise<void> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>((resolve) => this.#line.push(resolve))
  }

  release(): void {
    const next = this.#line.shift()
    if (next) next()
    else this.#free++
  }
}
