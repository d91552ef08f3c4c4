import { encodeValue, Payload } from "../core/codec.ts"
import { isControl, type ControlKind } from "../core/control.ts"
import { PerdureError, TerminatedError } from "../core/errors.ts"
import { isEnding, type Entry, type Recorded } from "../core/journal.ts"
import { InstanceState as State } from "../core/instance-state.ts"
import { checkEventType, checkId, checkRequestId } from "../core/limits.ts"
import { annotationsOf, asBefore, keptBefore } from "../core/run-history.ts"
import { validate, validateSafely } from "../core/standard-schema.ts"
import { isTerminal } from "../core/status.ts"
import { decodeRow } from "../core/turn-codec.ts"
import type { InstanceRow, InstanceState, NewInstance, NewMessage } from "../ports/journal-store.ts"
import type { Store } from "../ports/store.ts"
import type { ControlResult, ForkOptions, RestartOptions, SendOptions, TerminateOptions } from "./client.ts"
import type { CommitResult } from "./committer.ts"
import { terminatedEntry } from "./ending-entry.ts"
import { notFound } from "./ending-looks.ts"
import { deadlineOf, singletonExists, singletonOf } from "./flow-traits.ts"
import { forkDraft } from "./fork.ts"
import { loadRun } from "./loader.ts"
import { partingMessages } from "./parting.ts"
import type { WorkflowRegistry } from "./registry.ts"
import { within } from "./start-desk.ts"
import { TurnDraft } from "./turn-draft.ts"
import { randomToken } from "./random-token.ts"
import type { Worker } from "./worker.ts"

const seizeTries = 100
/** In a message that asks for a terminate. */
const withRollback = "rollback"

/**
 * What anybody may do to an instance from outside. Events, pause, resume and cancel are messages that its owner takes in.
 * Terminate and restart exclude the owner: they are turns of their own, written at the next position.
 */
export class Controls {
  readonly #store: Store
  readonly #registry: WorkflowRegistry
  readonly #worker: Worker

  constructor(store: Store, registry: WorkflowRegistry, worker: Worker) {
    this.#store = store
    this.#registry = registry
    this.#worker = worker
  }

  /** The message that carries an event, checked against the schema of whatever version is known here. */
  async eventMessage(
    id: string,
    workflow: { name: string; version: string } | undefined,
    type: string,
    payload: unknown,
    options: SendOptions,
  ): Promise<NewMessage> {
    checkEventType(type, this.#worker.settings.limits.eventTypeLengthMax)
    checkText("eventId", options.eventId)
    const { events, sensitive } = (workflow && this.#registry.find(workflow.name, workflow.version)?.options) ?? {}
    const schema = events?.[type]
    const isSensitive = sensitive?.events?.includes(type)
    const { host, settings } = this.#worker
    const value = schema ? await validateSafely(schema, payload, { code: "INVALID_EVENT", what: `event "${type}"`, isSensitive }) : payload
    const encoded = encodeValue(value, { what: `event "${type}"`, bytesMax: settings.limits.payloadBytesMax })
    return {
      instance: id,
      kind: "event",
      topic: type,
      payload: settings.codecs?.encode(encoded) ?? encoded,
      at: host.now(),
      ...(options.eventId === undefined ? undefined : { eventId: options.eventId }),
    }
  }

  async sendEvent(id: string, type: string, payload: unknown, options: SendOptions): Promise<void> {
    if (options.transaction !== undefined) return this.#sendWithin(options.transaction, id, type, payload, options)
    const resident = this.#worker.residency.get(id)
    const { workflow: name, version } = resident?.identity ?? (await this.#row(id))
    const message = await this.eventMessage(id, { name, version }, type, payload, options)
    const { mailroom } = this.#worker
    const deliver = () => mailroom.deliver(message)
    const delivery = await (resident ? resident.directEvents.send(message, mailroom.idle, deliver) : deliver())
    if (delivery === "taken") return
    if (delivery === "absent") throw notFound(id)
    if (delivery === "ended") throw ended(await this.#row(id))
    this.#worker.hint([id])
  }

  /** In a transaction of the caller's: whoever has the instance is told when that is committed. */
  async #sendWithin(client: unknown, id: string, type: string, payload: unknown, options: SendOptions): Promise<void> {
    return within(this.#store, client, async ({ directory }) => {
      const row = await directory.get(id)
      if (!row) throw notFound(id)
      const message = await this.eventMessage(id, { name: row.workflow, version: row.version }, type, payload, options)
      const [delivery] = await directory.deliver([message])
      if (delivery === "absent") throw notFound(id)
      if (delivery === "ended") throw ended(row)
    })
  }

  /** Whether any run of the instance has an event with that id. */
  async hasReceived(id: string, eventId: string): Promise<boolean> {
    const rows = await this.#store.journal.readJournal(id, 1)
    return rows.some((row) => decodeRow(row).some(({ entry }) => entry.type === "event.received" && entry.eventId === eventId))
  }

  async control(id: string, kind: ControlKind, reason: string | undefined, payload?: string): Promise<ControlResult> {
    checkText("reason", reason)
    let row = await this.#row(id)
    if (refuse(kind, row) !== undefined && !(await this.#hasUnreadControls(id))) {
      // Read again: what was unread a moment ago is in the row now.
      row = await this.#row(id)
      const refusal = refuse(kind, row)
      if (refusal !== undefined) return result(row, refusal)
    }
    const delivery = await this.#worker.mailroom.deliver({
      instance: id,
      kind,
      at: this.#worker.host.now(),
      ...(reason === undefined ? undefined : { topic: reason }),
      ...(payload === undefined ? undefined : { payload }),
    })
    if (delivery === "absent") throw notFound(id)
    const now = await this.#row(id)
    if (delivery === "ended") return result(now, `it is ${now.status}`)
    this.#worker.hint([id])
    return result(now)
  }

  async terminate(id: string, { reason, rollback = false }: TerminateOptions): Promise<ControlResult> {
    checkText("reason", reason)
    // Its code has to say what is to be undone: so its owner does it.
    if (rollback) return this.control(id, "terminate", reason, withRollback)
    return this.#seize(id, new TerminatedError(id, reason), (row) => {
      if (isTerminal(row.status)) return { refused: `it is ${row.status}` }
      return {
        entry: terminatedEntry(reason),
        run: row.run,
        state: (position) => ({ status: "terminated", run: row.run, runPosition: row.runPosition, endPosition: position }),
      }
    })
  }

  async restart(id: string, options: RestartOptions): Promise<ControlResult> {
    const answer = await this.#seize(id, new TerminatedError(id, "restarted"), async (row, recorded) => {
      await this.#checkSingleton(row)
      const began = recorded[0]
      const first = began?.entry
      if (first?.type !== "run.started") throw new PerdureError("STORE_FAILED", `the journal of instance "${id}" has no start`)
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
      // Ids of events that a run before this one received count only where something of it is kept: else they may be sent again.
      const ids = eventIds && { eventIds }
      const again = kept && kept.length > 0 ? { kept, ...ids, ...asBefore(row.incarnation, began as Recorded<typeof first>) } : undefined
      const entry: Entry = { ...start, run: row.run + 1, ...timeout, ...again }
      // One with limits goes to the end of the line.
      const status = row.slots === undefined ? "running" : "queued"
      return {
        entry,
        run: row.run + 1,
        state: (position) => ({ status, run: row.run + 1, runPosition: position, dueAt: host.now(), ...deadline }),
        annotations: annotationsOf(recorded, kept),
      }
    })
    if (answer.accepted) {
      this.#worker.announce(id, undefined)
      this.#worker.onRunOver(id)
    }
    return answer
  }

  /** A new instance that begins with what this one recorded before the step. */
  async fork(id: string, options: ForkOptions): Promise<string> {
    const { host, settings, committer } = this.#worker
    checkId(options.id, settings.limits.idLengthMax)
    const row = await this.#row(id)
    const { recorded } = await loadRun(this.#store.journal, row)
    const input = "input" in options ? await this.#input(row, options.input) : undefined
    const draft = forkDraft(row, recorded, {
      ...options,
      incarnation: checkRequestId(options.requestId) ?? randomToken(host),
      now: host.now(),
      input,
      codecs: settings.codecs,
    })
    const flow = this.#worker.features.flow?.forkTraits(row, this.#registry.find(row.workflow, row.version), input ?? inputOf(recorded))
    if (flow) draft.create = { ...draft.create, flow }
    const status = flow?.limits ? "queued" : "running"
    const deadline = deadlineOf(flow, draft.timeoutAt)
    const turn = draft.seal(this.#worker.nextTurnId(), draft.create, 1, { status, run: 1, runPosition: 1, dueAt: draft.at, ...deadline })
    const outcome = await new Promise<CommitResult>((onResult) => committer.submit(turn, { onResult }))
    if (typeof outcome === "object") throw outcome.error
    const existing = outcome === "lost" ? await this.#store.directory.get(options.id) : undefined
    if (outcome === "lost" && !existing) await this.#checkSingleton(draft.create)
    if (options.requestId !== undefined && existing?.incarnation === options.requestId) return options.id
    if (outcome === "lost") throw new PerdureError("ID_EXISTS", `instance "${options.id}" exists; choose another id`, { details: { instance: options.id } })
    this.#worker.announce(options.id, undefined)
    return options.id
  }

  /** Checked as that of a start is, by the schema of the version if it is known here. */
  async #input({ workflow, version }: InstanceRow, input: unknown): Promise<Payload> {
    const { input: schema, sensitive } = this.#registry.find(workflow, version)?.options ?? {}
    const value = schema ? await validate(schema, input, { code: "INVALID_INPUT", what: `the input of workflow "${workflow}"` }) : input
    return Payload.of(encodeValue(value, { what: "input", bytesMax: this.#worker.settings.limits.payloadBytesMax }), sensitive?.input)
  }

  async delete(id: string): Promise<void> {
    const row = await this.#row(id)
    const removed = await this.#store.directory.remove([id])
    if (removed.length > 0) return
    throw new PerdureError("NOT_ENDED", `instance "${id}" is ${row.status}; terminate it before it is deleted`, {
      details: { instance: id, status: row.status },
    })
  }

  /** Writes a turn at the next position in place of the owner, which loses what it was about to write. */
  async #seize(id: string, reason: unknown, decide: (row: InstanceRow, recorded: readonly Recorded[]) => Seizure | Promise<Seizure>): Promise<ControlResult> {
    for (let tries = 0; tries < seizeTries; tries++) {
      const row = await this.#row(id)
      const { recorded } = await loadRun(this.#store.journal, row)
      // It moved on between the two reads: what the row says is over.
      if (recorded[0]?.run !== row.run || recorded.some(({ entry }) => isEnding(entry)) !== isTerminal(row.status)) continue
      const decision = await decide(row, recorded)
      if ("refused" in decision) return result(row, decision.refused)
      this.#worker.evict(id, reason)
      const position = recorded.reduce((last, item) => Math.max(last, item.position), 0) + 1
      const draft = new TurnDraft(position, Math.max(this.#worker.host.now(), recorded.at(-1)?.at ?? 0), this.#worker.settings.codecs)
      draft.add(decision.entry)
      draft.discardInbox = true
      const { tags, memo } = decision.annotations ?? {}
      draft.tags = tags
      draft.memo = memo && draft.stored(memo)
      draft.sends = isTerminal(row.status) ? [] : partingMessages(foldOf(recorded), row.incarnation, decision.entry, draft)
      const state = decision.state(position)
      const turn = draft.seal(this.#worker.nextTurnId(), row, decision.run, state)
      const outcome = await new Promise((onResult) => this.#worker.committer.submit(turn, { onResult }))
      if (outcome === "committed") {
        this.#worker.onSent(draft.sends)
        if (isTerminal(state.status)) this.#worker.ended(id, decision.entry)
        return result({ ...row, ...state })
      }
      if (outcome !== "lost") throw (outcome as { error: unknown }).error
    }
    throw new PerdureError("STORE_FAILED", `instance "${id}" moves too fast: ${seizeTries} attempts to write its next turn were lost; pause it first`)
  }

  /** An instance that has ended has given up its key, and another may have it. */
  async #checkSingleton({ id, flow }: Pick<NewInstance, "id" | "flow">): Promise<void> {
    const singleton = singletonOf(flow)
    const holder = singleton && (await this.#store.flow.holder(singleton))
    if (singleton && holder !== undefined && holder !== id) throw singletonExists(holder)
  }

  /** A control on its way may change what the row says, so its owner is to judge the next one. */
  async #hasUnreadControls(id: string): Promise<boolean> {
    return (await this.#store.journal.readInbox([id])).some(({ kind }) => isControl(kind))
  }

  async #row(id: string): Promise<InstanceRow> {
    const row = await this.#store.directory.get(id)
    if (!row) throw notFound(id)
    return row
  }
}

function foldOf(recorded: readonly Recorded[]): State {
  const state = new State()
  for (const item of recorded) state.apply(item)
  return state
}

type Seizure =
  | { readonly refused: string }
  | {
      readonly entry: Entry
      readonly run: number
      readonly state: (position: number) => InstanceState
      /** What its tags and its memo become. */
      readonly annotations?: ReturnType<typeof annotationsOf>
    }

/** Why a control can have no effect on an instance of that status. */
function refuse(kind: ControlKind, row: InstanceRow): string | undefined {
  if (isTerminal(row.status)) return `it is ${row.status}`
  const isUndoing = row.phase === "rollingBack"
  if (kind === "terminate" && isUndoing) return "it is being rolled back already"
  if (kind === "terminate") return row.status === "stalled" ? "it is stalled; terminate it without rollback, or resume it first" : undefined
  if (kind === "resume" && row.status !== "paused" && row.status !== "stalled" && row.phase !== "pausing")
    return `it is ${row.status}, neither paused nor stalled`
  if (kind === "cancel" && row.status === "stalled") return "it is stalled; terminate it, or resume it first"
  if (kind === "cancel" && isUndoing) return "it is being rolled back already"
  if (kind === "cancel" && row.phase === "cancelling") return "it is being cancelled already"
  if (kind === "pause" && row.status === "stalled") return "it is stalled"
  if (kind === "pause" && isUndoing) return "it is being rolled back"
  if (kind === "pause" && row.phase === "cancelling") return "it is being cancelled"
  if (kind === "pause" && (row.status === "paused" || row.phase === "pausing")) return "it is paused already"
  return undefined
}

/** Callers without types pass anything, and it must not reach the store: it would fail what others send at the same time. */
export function checkText(option: string, value: unknown): void {
  if (value === undefined || typeof value === "string") return
  throw new PerdureError("BAD_OPTION", `${option} must be a string; it is of type ${typeof value}`, { details: { option } })
}

function result(row: InstanceRow, reason?: string): ControlResult {
  const { id, status, phase } = row
  return { id, accepted: reason === undefined, status, ...(phase ? { phase } : undefined), ...(reason === undefined ? undefined : { reason }) }
}

function ended(row: InstanceRow): PerdureError {
  return new PerdureError("INSTANCE_ENDED", `instance "${row.id}" is over and takes no more events; restart it, or start another`, {
    details: { instance: row.id, status: row.status },
  })
}

/** What the run was started with. */
function inputOf(recorded: readonly Recorded[]): Payload {
  const first = recorded[0]?.entry
  return first?.type === "run.started" ? first.value : Payload.undefined
}
