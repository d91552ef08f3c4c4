import { decodeValue, encodeValue } from "../../core/values/value-codec.ts"
import { isAsk } from "../../core/journal/journal.ts"
import { PerdureError } from "../../core/errors.ts"
import { isTerminal } from "../../core/journal/status.ts"
import type { Store } from "../../ports/store.ts"
import type { UpdateWaiters } from "./update-waiters.ts"
import { notFound } from "./instance-errors.ts"
import { loadRun } from "../runner/run-loader.ts"
import type { WorkflowRegistry } from "../workflow-registry.ts"
import { replayRun } from "../diagnostics/read-only-replay.ts"
import { randomToken } from "../random-token.ts"
import type { Worker } from "../worker/worker.ts"

/** Sends queries and updates to the code of instances. A query changes nothing; an update is stored and answered once. */
export class QueryUpdateClient {
  readonly #store: Store
  readonly #registry: WorkflowRegistry
  readonly #worker: Worker
  readonly #updateWaiters: UpdateWaiters

  constructor(store: Store, registry: WorkflowRegistry, worker: Worker, updateWaiters: UpdateWaiters) {
    this.#store = store
    this.#registry = registry
    this.#worker = worker
    this.#updateWaiters = updateWaiters
  }

  /** Answers from memory if everything that the code has seen there is committed. Else any process that has the code replays the journal. */
  async query(id: string, name: string, args: readonly unknown[]): Promise<unknown> {
    const encoded = this.#encode("query", name, args)
    const answer = this.#worker.residents.get(id)?.queryUpdateResponder?.query(name, encoded) ?? (await this.#queryReplayed(id, name, encoded))
    return decodeValue(answer)
  }

  async update(id: string, name: string, args: readonly unknown[]): Promise<unknown> {
    const { host, messages } = this.#worker
    const encoded = this.#encode("update", name, args)
    const payload = this.#worker.settings.codecs?.encode(encoded) ?? encoded
    await messages.enter?.()
    const row = await this.#store.directory.get(id)
    if (row === undefined) throw notFound(id)
    if (isTerminal(row.status)) throw ended(id)
    const update = randomToken(host)
    const answer = this.#updateWaiters.wait(id, update, row.runPosition)
    // The promise may reject before this method returns it.
    answer.catch(() => undefined)
    try {
      const delivery = await messages.deliver({ instance: id, kind: "update", topic: name, payload, eventId: update, at: host.now() })
      if (delivery === "absent") throw notFound(id)
      if (delivery === "ended") throw ended(id)
      this.#updateWaiters.sent(update)
    } catch (error) {
      this.#updateWaiters.giveUp(update, error)
    }
    this.#worker.hint([id])
    return answer
  }

  #encode(what: string, name: string, args: readonly unknown[]): string {
    if (typeof name !== "string" || name === "") throw new PerdureError("BAD_NAME", `the name of a ${what} must be a string that is not empty`)
    return encodeValue(args, { what: `arguments of ${what} "${name}"`, bytesMax: this.#worker.settings.limits.payloadBytesMax })
  }

  async #queryReplayed(id: string, name: string, args: string): Promise<string> {
    const row = await this.#store.directory.get(id)
    if (row === undefined) throw notFound(id)
    const workflow = this.#registry.findForQuery(row.workflow, row.version)
    if (!workflow) {
      const known = this.#registry.versions(row.workflow).map((version) => `"${version}"`)
      throw new PerdureError(
        "NO_WORKER",
        `this process has no version "${row.version}" of workflow "${row.workflow}", which instance "${id}" needs to answer; it has ${known.length === 0 ? "none" : known.join(", ")}. Give the definition to get(workflow, id), or call a process that has the version`,
        { details: { instance: id, workflow: row.workflow, version: row.version } },
      )
    }
    const { recorded } = await loadRun(this.#store.journal, row)
    // A restart from a step and a fork are queued, but have entries to replay.
    if (row.status === "queued" && !recorded.some(({ entry }) => isAsk(entry)))
      throw new PerdureError("NOT_STARTED", `instance "${id}" has not started, and answers no queries yet; ask again later`, { details: { instance: id } })
    const { host, settings } = this.#worker
    const { execution } = await replayRun(workflow, row, recorded, {
      quiesce: (then) => host.quiesce(then),
      enter: (run) => host.runIn({ engine: this.#worker, instance: id }, run),
      patience: (activity) =>
        new Promise((resolve) => {
          const stop = host.setTimer(host.now() + settings.replayGraceMs, () => resolve(false))
          void activity.then(() => {
            stop()
            resolve(true)
          })
        }),
    })
    return execution.queryUpdateHandlers.query(name, args)
  }
}

function ended(id: string): PerdureError {
  return new PerdureError("INSTANCE_ENDED", `instance "${id}" has ended and takes no updates; query it, or restart it`, { details: { instance: id } })
}
