import { encodeValue, Payload } from "../../core/values/value-codec.ts"
import { PerdureError, TerminatedError } from "../../core/errors.ts"
import type { Entry, Recorded } from "../../core/journal/journal.ts"
import { checkId, checkRequestId } from "../../core/workflow/input-limits.ts"
import { annotationsOf, originOf, keptBefore } from "../../core/journal/run-history.ts"
import { validate } from "../../core/workflow/standard-schema.ts"
import type { InstanceRow, NewInstance } from "../../ports/journal-store.ts"
import type { Store } from "../../ports/store.ts"
import type { ControlResult, ForkOptions, RestartOptions } from "../../client-api/client-api.ts"
import type { CommitResult } from "../worker/group-committer.ts"
import { existingRow } from "./instance-lookup.ts"
import { deadlineOf } from "../flow-control/flow-traits.ts"
import { forkTraits } from "../flow-control/flow-keys.ts"
import { forkDraft } from "./fork.ts"
import { loadRun } from "../runner/run-loader.ts"
import { randomToken } from "../random-token.ts"
import type { WorkflowRegistry } from "../workflow-registry.ts"
import { singletonExists, singletonOf } from "../flow-control/singletons.ts"
import { writeForcedTurn } from "./forced-turn.ts"
import type { Worker } from "../worker/worker.ts"

/** Restarts an instance in a new run, or forks it into a new instance. The caller writes the turn of a restart in place of the owner, as for a terminate. */
export class Restarts {
  readonly #store: Store
  readonly #registry: WorkflowRegistry
  readonly #worker: Worker

  constructor(store: Store, registry: WorkflowRegistry, worker: Worker) {
    this.#store = store
    this.#registry = registry
    this.#worker = worker
  }

  async restart(id: string, options: RestartOptions): Promise<ControlResult> {
    const answer = await writeForcedTurn({ store: this.#store, worker: this.#worker }, id, new TerminatedError(id, "restarted"), async (row, recorded) => {
      await this.#checkSingleton(row)
      const began = recorded[0]
      const first = began?.entry
      if (first?.type !== "run.started")
        throw new PerdureError("STORE_FAILED", `the journal of instance "${id}" has no run.started entry; restore the database from a backup`)
      const kept = options.from === undefined ? undefined : keptBefore(recorded, options.from)
      if (options.from !== undefined && kept === undefined) {
        throw new PerdureError("UNKNOWN_STEP", `run ${row.run} of instance "${id}" has no step "${options.from}"; steps() lists those it has`, {
          details: { instance: id, step: options.from },
        })
      }
      const { host } = this.#worker
      const startedAt = Math.max(began?.at ?? 0, first.startAt ?? 0)
      const timeout = first.timeoutAt === undefined ? undefined : { timeoutAt: host.now() + (first.timeoutAt - startedAt) }
      const deadline = deadlineOf(row.flow, timeout?.timeoutAt)
      const { startAt: _, timeoutAt: __, kept: ___, seed: ____, startedAt: _____, eventIds, ...start } = first
      // The ids of received events stay known only if entries are kept. After a restart from the beginning these events may be sent again.
      const ids = eventIds && { eventIds }
      const again = kept && kept.length > 0 ? { kept, ...ids, ...originOf(row.incarnation, began as Recorded<typeof first>) } : undefined
      const entry: Entry = { ...start, run: row.run + 1, ...timeout, ...again }
      return {
        entries: [entry],
        run: row.run + 1,
        // An instance with limits goes to the end of the queue for a slot.
        state: (position, at) => ({ status: "queued", run: row.run + 1, runPosition: position, dueAt: at, ...deadline }),
        annotations: annotationsOf(recorded, kept),
      }
    })
    if (answer.accepted) {
      this.#worker.announce(id, undefined)
      this.#worker.onRunEnded(id)
    }
    return answer
  }

  /** Creates an instance that begins with the entries which this one recorded before the step. */
  async fork(id: string, options: ForkOptions): Promise<string> {
    const { host, settings, committer } = this.#worker
    checkId(options.id, settings.limits.idLengthMax)
    const row = await existingRow(this.#store, id)
    const { recorded } = await loadRun(this.#store.journal, row)
    const input = "input" in options ? await this.#input(row, options.input) : undefined
    const draft = forkDraft(row, recorded, {
      ...options,
      incarnation: checkRequestId(options.requestId) ?? randomToken(host),
      now: host.now(),
      input,
      codecs: settings.codecs,
    })
    const flow = forkTraits(row, this.#registry.find(row.workflow, row.version), input ?? inputOf(recorded))
    if (flow) draft.create = { ...draft.create, flow }
    const deadline = deadlineOf(flow, draft.timeoutAt)
    const state = { status: "queued", run: 1, runPosition: 1, dueAt: draft.at, ...deadline } as const
    const turn = draft.seal(this.#worker.nextTurnId(), draft.create, 1, state, undefined)
    const outcome = await new Promise<CommitResult>((onResult) => committer.submit(turn, { onResult }))
    if (typeof outcome === "object") throw outcome.error
    const existing = outcome === "lost" ? await this.#store.directory.get(options.id) : undefined
    if (outcome === "lost" && !existing) await this.#checkSingleton(draft.create)
    if (options.requestId !== undefined && existing?.incarnation === options.requestId) return options.id
    if (outcome === "lost") throw new PerdureError("ID_EXISTS", `instance "${options.id}" exists; choose another id`, { details: { instance: options.id } })
    this.#worker.announce(options.id, undefined)
    return options.id
  }

  /** Checks the input against the schema of the version, if this process has it. */
  async #input({ workflow, version }: InstanceRow, input: unknown): Promise<Payload> {
    const { input: schema, sensitive } = this.#registry.find(workflow, version)?.options ?? {}
    const value = schema ? await validate(schema, input, { code: "INVALID_INPUT", what: `the input of workflow "${workflow}"` }) : input
    return Payload.of(encodeValue(value, { what: "input", bytesMax: this.#worker.settings.limits.payloadBytesMax }), sensitive?.input)
  }

  /** An ended instance no longer holds its singleton key. Throws if another instance holds it now. */
  async #checkSingleton({ id, flow }: Pick<NewInstance, "id" | "flow">): Promise<void> {
    const singleton = singletonOf(flow)
    const holder = singleton && (await this.#store.flow.holder(singleton))
    if (singleton && holder !== undefined && holder !== id) throw singletonExists(holder)
  }
}

/** The input of the run. */
function inputOf(recorded: readonly Recorded[]): Payload {
  const first = recorded[0]?.entry
  return first?.type === "run.started" ? first.value : Payload.undefined
}
