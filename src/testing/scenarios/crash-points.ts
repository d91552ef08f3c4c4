import type { Store, StoreProvider } from "../../ports/store.ts"
import { StoreFaultError } from "../faulty-store.ts"
import type { TestEngine } from "../test-engine.ts"
import { replacing } from "./replacing.ts"
import type { BedOptions, OpenBed } from "./scenario-bed.ts"

/** When a process dies of a write; or `unacknowledged`: it is done, and the process lives on without knowing. */
const moments = ["before", "after", "unacknowledged"] as const
type Moment = (typeof moments)[number]

const writesMax = 200

/** Plays a story again and again, each time with another of its writes gone wrong in another way. Answers how many writes it has. */
export async function atEveryWrite(open: OpenBed, options: BedOptions, story: (engine: TestEngine) => Promise<void>): Promise<number> {
  for (let write = 1; write <= writesMax; write++) {
    let struck = false
    for (const moment of moments) {
      const point = new CrashPoint(write, moment)
      const engine = await open({ ...options, wrap: (store) => point.wrap(store) })
      point.crash = () => engine.crash()
      try {
        await story(engine)
      } catch (error) {
        throw new Error(`at write ${write}, ${moment}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
      }
      await engine.close()
      struck ||= point.struck
    }
    if (!struck) return write - 1
  }
  throw new Error(`the story has more than ${writesMax} writes`)
}

/** One write of the first process that opens the store goes wrong; those after it have the store as it is. */
class CrashPoint {
  crash: () => Promise<void> = () => Promise.resolve()
  struck = false
  readonly #write: number
  readonly #moment: Moment
  #writes = 0

  constructor(write: number, moment: Moment) {
    this.#write = write
    this.#moment = moment
  }

  wrap(provider: StoreProvider): StoreProvider {
    return {
      name: provider.name,
      open: async (context) => {
        const store = await provider.open(context)
        return this.struck ? store : this.#watched(store)
      },
    }
  }

  #watched(store: Store): Store {
    const { journal, directory } = store
    let isDead = false
    const write = async <T>(run: () => Promise<T>): Promise<T> => {
      if (isDead) return never()
      if (this.struck || ++this.#writes < this.#write) return run()
      this.struck = true
      if (this.#moment !== "before") await run()
      if (this.#moment === "unacknowledged") throw new StoreFaultError("it is done, but its answer got lost")
      isDead = true
      void this.crash()
      return never()
    }
    return replacing(store, {
      journal: replacing(journal, { commit: (turns) => write(() => journal.commit(turns)) }),
      directory: replacing(directory, { deliver: (messages) => write(() => directory.deliver(messages)) }),
    })
  }
}

function never<T>(): Promise<T> {
  return new Promise(() => undefined)
}
