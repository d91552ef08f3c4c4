import { expect } from "vitest"
import { PerdureError } from "../../core/errors.ts"
import { macrotask } from "../../hosts/simulated/simulated-host.ts"
import type { TestEngine } from "../test-engine.ts"

type Deploy = Parameters<TestEngine["crash"]>[0]

/** Lets the process of an engine die once. */
export interface Doom {
  /** From now on writes are counted. The crash may be a deploy of other workflows. */
  arm(engine: TestEngine, deploy?: Deploy): void
  /** Settles the engine, also while it is being opened again. */
  rest(): Promise<void>
  /** Does it and settles; where the process died before it answered, once more. */
  insist(act: () => Promise<unknown>): Promise<void>
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

/** For an act that may have ended the instance the first time. */
export function unlessEnded(error: unknown): void {
  if (!PerdureError.is(error, "INSTANCE_ENDED")) throw error
}

class OneCrash implements Doom {
  hasHappened = false
  readonly #commit: number
  readonly #when: "before" | "after"
  #engine: TestEngine | undefined
  #crash: Promise<void> | undefined
  #commits = 0
  #tell!: () => void
  readonly #died = new Promise<void>((resolve) => {
    this.#tell = resolve
  })

  constructor(commit: number, when: "before" | "after") {
    this.#commit = commit
    this.#when = when
  }

  arm(engine: TestEngine, deploy?: Deploy): void {
    this.#engine = engine
    const { journal } = engine.current.parts.store
    const commit = journal.commit.bind(journal)
    journal.commit = async (turns) => {
      if (!this.hasHappened && ++this.#commits !== this.#commit) return commit(turns)
      if (!this.hasHappened) {
        this.hasHappened = true
        this.#tell()
        if (this.#when === "after") await commit(turns)
        macrotask(() => {
          this.#crash = engine.crash(deploy)
        })
      }
      return new Promise(() => undefined)
    }
  }

  async insist(act: () => Promise<unknown>): Promise<void> {
    const isDone = await Promise.race([act().then(() => true), this.hasHappened ? new Promise<never>(() => undefined) : this.#died.then(() => false)])
    await this.rest()
    if (isDone) return
    await act()
    await this.rest()
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
