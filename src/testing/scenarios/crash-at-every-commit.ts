import { expect } from "vitest"
import { macrotask } from "../../hosts/simulated/simulated-host.ts"
import type { TestEngine } from "../test-engine.ts"

/** Lets the process of an engine die once. */
export interface Doom {
  /** From now on writes are counted. */
  arm(engine: TestEngine): void
  /** Settles the engine, also while it is being opened again. */
  rest(): Promise<void>
}

/** Plays the story with a crash before and after every single write that follows `arm`, one crash at a time. Answers how many crashes that were. */
export async function crashAtEveryCommit(story: (doom: Doom) => Promise<void>): Promise<number> {
  let crashes = 0
  for (const when of ["before", "after"] as const) {
    for (let commit = 1; ; commit++) {
      const doom = new OneCrash(commit, when)
      try {
        await story(doom)
      } catch (error) {
        throw new Error(`with a crash ${when} write ${commit}: ${String(error)}`, { cause: error })
      }
      if (!doom.hasHappened) break
      crashes++
    }
  }
  expect(crashes).toBeGreaterThan(4)
  return crashes
}

class OneCrash implements Doom {
  hasHappened = false
  readonly #commit: number
  readonly #when: "before" | "after"
  #engine: TestEngine | undefined
  #crash: Promise<void> | undefined
  #commits = 0

  constructor(commit: number, when: "before" | "after") {
    this.#commit = commit
    this.#when = when
  }

  arm(engine: TestEngine): void {
    this.#engine = engine
    const { journal } = engine.current.parts.store
    const commit = journal.commit.bind(journal)
    journal.commit = async (turns) => {
      if (!this.hasHappened && ++this.#commits !== this.#commit) return commit(turns)
      if (!this.hasHappened) {
        this.hasHappened = true
        if (this.#when === "after") await commit(turns)
        macrotask(() => {
          this.#crash = engine.crash()
        })
      }
      return new Promise(() => undefined)
    }
  }

  async rest(): Promise<void> {
    do {
      await this.#crash
      await this.#engine?.settle()
    } while (this.hasHappened && this.#crash === undefined)
    await this.#crash
    await this.#engine?.settle()
  }
}
