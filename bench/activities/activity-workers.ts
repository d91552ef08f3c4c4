import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import type { Target } from "../target.ts"

/** The benchmarks run as compiled JavaScript. */
const script = fileURLToPath(new URL("./activity-process.js", import.meta.url))

/** Processes that run activities on the store of a folder. */
export class ActivityWorkers implements AsyncDisposable {
  readonly #children: readonly ChildProcess[]

  private constructor(children: readonly ChildProcess[]) {
    this.#children = children
  }

  static async start(target: Target, folder: string, count: number): Promise<ActivityWorkers> {
    const workers = new ActivityWorkers(Array.from({ length: count }, () => fork(script, [target.id, folder])))
    try {
      await Promise.all(workers.#children.map(messageOf))
      return workers
    } catch (error) {
      await workers[Symbol.asyncDispose]()
      throw error
    }
  }

  /** The statements that all of them have sent to PostgreSQL so far. */
  async statements(): Promise<number> {
    const counts = await Promise.all(
      this.#children.map(async (child) => {
        const answer = messageOf(child)
        child.send("how many statements?")
        return Number(await answer)
      }),
    )
    return counts.reduce((sum, count) => sum + count, 0)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(
      this.#children.map(async (child) => {
        if (child.exitCode !== null || child.signalCode !== null) return
        const ended = once(child, "exit")
        if (child.connected) child.disconnect()
        await ended
      }),
    )
  }
}

/** The next message of a process. Throws if the process ends before. */
async function messageOf(child: ChildProcess): Promise<unknown> {
  const settled = new AbortController()
  const { signal } = settled
  try {
    const ended = once(child, "exit", { signal }).then(([code]) => {
      throw new Error(`an activity worker ended with ${String(code)}`)
    })
    const [message] = (await Promise.race([once(child, "message", { signal }), ended])) as [unknown]
    return message
  } finally {
    // The one that is not awaited any more rejects, which says nothing.
    settled.abort()
  }
}
