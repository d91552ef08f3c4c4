import { expect } from "vitest"
import { PerdureError } from "../../core/errors.ts"
import { macrotask } from "../../hosts/simulated/simulated-host.ts"
import { StoreFaultError } from "../faulty-store.ts"
import type { TestEngine } from "../test-engine.ts"

type Deploy = Parameters<TestEngine["crash"]>[0]

/** The moment of the crash at a write; `unacknowledged`: the write succeeds, and the process lives on and gets an error. */
export type Moment = "before" | "after" | "unacknowledged"

const deaths: readonly Moment[] = ["before", "after"]
export const allMoments: readonly Moment[] = [...deaths, "unacknowledged"]

/** Makes one write of an engine fail or crash the process. */
export interface Doom {
  /** Starts to count writes. The crash may be a deploy of other workflows. */
  arm(engine: TestEngine, deploy?: Deploy): void
  /** Settles the engine, also while it is being opened again. */
  rest(): Promise<void>
  /** Makes a call and settles; repeats the call once if it got no answer. */
  insist(act: () => Promise<unknown>): Promise<void>
}

/** Runs the story once for each write after `arm` and for each of these moments, with a fault at that write. Returns the number of runs. */
export async function crashAtEveryWrite(story: (doom: Doom) => Promise<void>, moments: readonly Moment[] = deaths): Promise<number> {
  let strikes = 0
  for (const moment of moments) {
    for (let write = 1; ; write++) {
      const doom = new OneStrike(write, moment)
      try {
        await story(doom)
      } catch (error) {
        throw new Error(`at write ${write}, ${moment}: ${String(error)}`, { cause: error })
      }
      if (!doom.hasHappened) break
      strikes++
    }
  }
  expect(strikes).toBeGreaterThan(4)
  return strikes
}

/** For a call that may have ended the instance the first time. */
export function unlessEnded(error: unknown): void {
  if (!PerdureError.is(error, "INSTANCE_ENDED")) throw error
}

class OneStrike implements Doom {
  hasHappened = false
  readonly #write: number
  readonly #moment: Moment
  #engine: TestEngine | undefined
  #deploy: Deploy
  #isDead = false
  #crash: Promise<void> | undefined
  #writes = 0
  #tell!: () => void
  readonly #died = new Promise<void>((resolve) => {
    this.#tell = resolve
  })

  constructor(write: number, moment: Moment) {
    this.#write = write
    this.#moment = moment
  }

  /** Only the store of this process has faults; the next process uses the store itself. */
  arm(engine: TestEngine, deploy?: Deploy): void {
    this.#engine = engine
    this.#deploy = deploy
    const { journal, directory } = engine.current.components.store
    const commit = journal.commit.bind(journal)
    const deliver = directory.deliver.bind(directory)
    journal.commit = (turns) => this.#strike(() => commit(turns))
    directory.deliver = (messages) => this.#strike(() => deliver(messages))
  }

  async #strike<T>(write: () => Promise<T>): Promise<T> {
    if (this.#isDead) return never()
    if (this.hasHappened || ++this.#writes !== this.#write) return write()
    this.hasHappened = true
    if (this.#moment === "unacknowledged") {
      await write()
      throw new StoreFaultError("the write succeeded, but its answer was lost")
    }
    this.#isDead = true
    this.#tell()
    if (this.#moment === "after") await write()
    macrotask(() => {
      this.#crash = this.#engine?.crash(this.#deploy)
    })
    return never()
  }

  async insist(act: () => Promise<unknown>): Promise<void> {
    const answered = act().then(
      () => true,
      (error: unknown) => {
        if (error instanceof StoreFaultError) return false
        throw error
      },
    )
    const isDone = await Promise.race([answered, this.#isDead ? never<boolean>() : this.#died.then(() => false)])
    await this.rest()
    if (isDone) return
    await act()
    await this.rest()
  }

  async rest(): Promise<void> {
    do {
      await this.#crash
      await this.#engine?.settle()
    } while (this.#isDead && this.#crash === undefined)
    await this.#crash
    await this.#engine?.settle()
  }
}

function never<T>(): Promise<T> {
  return new Promise(() => undefined)
}
