// A worker process writes its current phases to one byte of a file. A write of one byte costs about a microsecond, another
// process can watch the byte, and after a kill the byte says in which phases the process died.

import { closeSync, openSync, readSync, writeSync } from "node:fs"

/**
 * Several phases may hold at once: a step may run while the turn of another instance is committed. With no phase the process is idle.
 * Recovery lasts from the start of the process until the turns of the instances claimed first are written, if there were any;
 * opening the store and replaying those instances are parts of it.
 */
export const phases = { open: 1, recovery: 2, replay: 4, commit: 8, claim: 16, step: 32 } as const
export type Phase = keyof typeof phases

export class PhaseMarks {
  readonly #file: number
  readonly #byte = new Uint8Array(1)
  readonly #counts: Record<Phase, number> = { open: 0, recovery: 0, replay: 0, commit: 0, claim: 0, step: 0 }

  constructor(path: string) {
    this.#file = openSync(path, "w")
    this.#write()
  }

  enter(phase: Phase): void {
    if (++this.#counts[phase] === 1) this.#write()
  }

  leave(phase: Phase): void {
    if (--this.#counts[phase] === 0) this.#write()
  }

  during<T>(phase: Phase, work: () => T): T {
    this.enter(phase)
    try {
      return work()
    } finally {
      this.leave(phase)
    }
  }

  #write(): void {
    this.#byte[0] = Object.entries(phases).reduce((bits, [phase, bit]) => (this.#counts[phase as Phase] > 0 ? bits | bit : bits), 0)
    writeSync(this.#file, this.#byte, 0, 1, 0)
  }
}

/** Reads the byte of another process. It is 0 until the process has written it. */
export class PhaseWatch {
  readonly #file: number
  readonly #byte = new Uint8Array(1)

  constructor(path: string) {
    this.#file = openSync(path, "a+")
  }

  read(): number {
    return readSync(this.#file, this.#byte, 0, 1, 0) === 1 ? (this.#byte[0] ?? 0) : 0
  }

  close(): void {
    closeSync(this.#file)
  }
}

/** Counts the kills by phase. One kill may hit several phases. */
export class PhaseHistogram {
  readonly #hits = new Map<string, number>()
  #kills = 0

  add(bits: number, clientWrite: boolean): void {
    this.#kills++
    const hit = (Object.keys(phases) as Phase[]).filter((phase) => bits & phases[phase])
    for (const phase of hit.length === 0 ? ["idle"] : hit) this.#count(phase)
    if (clientWrite) this.#count("client write")
  }

  hits(phase: Phase | "idle" | "client write"): number {
    return this.#hits.get(phase) ?? 0
  }

  toString(): string {
    const rows = [...this.#hits].toSorted((a, b) => b[1] - a[1])
    const width = Math.max(...rows.map(([phase]) => phase.length))
    return [
      `phases hit by ${this.#kills} kills (one kill may hit several):`,
      ...rows.map(([phase, hits]) => `  ${phase.padEnd(width)}  ${String(hits).padStart(4)}`),
    ].join("\n")
  }

  #count(phase: string): void {
    this.#hits.set(phase, (this.#hits.get(phase) ?? 0) + 1)
  }
}
