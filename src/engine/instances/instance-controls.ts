import { encodeValue } from "../../core/values/value-codec.ts"
import { isControl, type ControlKind } from "../../core/journal/control-message.ts"
import { declaredEvents, takesEvent, unknownEvent } from "../../core/workflow/declared-events.ts"
import { PerdureError, TerminatedError } from "../../core/errors.ts"
import { checkEventType } from "../../core/workflow/input-limits.ts"
import { validateSafely } from "../../core/workflow/standard-schema.ts"
import { isTerminal } from "../../core/journal/status.ts"
import type { InstanceRow, NewMessage } from "../../ports/journal-store.ts"
import type { Store } from "../../ports/store.ts"
import type { ControlResult, DeleteResult, SendOptions, TerminateOptions } from "../../client-api/client-api.ts"
import { terminatedEntry } from "../runner/ending-entry.ts"
import { instanceEnded, notFound } from "./instance-errors.ts"
import { existingRow } from "./instance-lookup.ts"
import type { WorkflowRegistry } from "../workflow-registry.ts"
import { controlResult, readCurrentRun, writeForcedTurn } from "./forced-turn.ts"
import { sendWithin } from "./caller-transaction-scope.ts"
import { controlUnowned } from "./unowned-control.ts"
import type { Worker } from "../worker/worker.ts"

/** So many unread messages are looked through at first: where many controls are sent, one is soon found. Then ever more at a time. */
const lookedThroughMin = 32
const lookedThroughMax = 4_096
/** In a message that asks for a terminate. */
const withRollback = "rollback"

/** How often the caller tries to write a control itself; then it is a message, which whoever runs the instance takes in. */
const unownedTriesMax = 3

/**
 * What anybody may do to an instance from outside. Events, pause, resume and cancel are messages that its owner takes in.
 * Terminate excludes the owner: it is a turn of its own, written at the next position. So is a pause or a cancel of an instance that nobody owns.
 */
export class InstanceControls {
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

  /**
   * The same, to be refused where the instance declares its events and not this one. Code of its version that is here may declare more than was stored
   * when the instance was created: what that code declares is not refused.
   */
  #checked(message: NewMessage, { workflow, version }: Pick<InstanceRow, "workflow" | "version">): NewMessage {
    const declared = declaredEvents(this.#registry.find(workflow, version)?.options)
    return declared?.includes(message.topic ?? "") ? message : { ...message, isChecked: true }
  }

  async sendEvent(id: string, type: string, payload: unknown, options: SendOptions): Promise<void> {
    const { transaction } = options
    if (transaction !== undefined) {
      const messageOf = async (row: InstanceRow) =>
        this.#checked(await this.eventMessage(id, { name: row.workflow, version: row.version }, type, payload, options), row)
      return sendWithin(this.#store, transaction, id, messageOf)
    }
    const { messages, residents } = this.#worker
    // Where no schema here is about such events, nobody need know what it is sent to: that it is there is seen when it is delivered.
    const target = residents.get(id)?.identity ?? (this.#registry.checksEvent(type) ? await existingRow(this.#store, id) : undefined)
    const event = await this.eventMessage(id, target && { name: target.workflow, version: target.version }, type, payload, options)
    const message = target ? this.#checked(event, target) : { ...event, isChecked: true as const }
    await messages.enter?.()
    const resident = residents.get(id)
    // What goes straight into the journal is not looked at by the store.
    if (resident && message.isChecked && !takesEvent(resident.identity.events, type)) throw unknownEvent(resident.identity, type)
    const deliver = () => messages.deliver(message)
    const delivery = await (resident ? resident.directEvents.send(message, messages.idle, deliver) : deliver())
    if (delivery === "recorded") return
    if (delivery === "absent") throw notFound(id)
    if (delivery === "ended") throw instanceEnded(await existingRow(this.#store, id))
    if (delivery === "unknown-event") throw unknownEvent(await existingRow(this.#store, id), type)
    this.#worker.hint([id])
  }

  async control(id: string, kind: ControlKind, reason: string | undefined, payload?: string): Promise<ControlResult> {
    checkText("reason", reason)
    await this.#worker.messages.enter?.()
    if (kind === "pause" || kind === "cancel") {
      const answer = await this.#controlUnowned(id, kind, reason)
      if (answer) return answer
    }
    let row = await existingRow(this.#store, id)
    if (refuse(kind, row) !== undefined && !(await this.#hasUnreadControls(id))) {
      // Read again: what was unread a moment ago is in the row now.
      row = await existingRow(this.#store, id)
      const refusal = refuse(kind, row)
      if (refusal !== undefined) return controlResult(row, refusal)
    }
    const delivery = await this.#worker.messages.deliver({
      instance: id,
      kind,
      at: this.#worker.host.now(),
      ...(reason === undefined ? undefined : { topic: reason }),
      ...(payload === undefined ? undefined : { payload }),
    })
    if (delivery === "absent") throw notFound(id)
    // Before the answer: whoever has it is to act on it at the next step boundary.
    this.#worker.hint([id])
    const now = await existingRow(this.#store, id)
    return controlResult(now, delivery === "ended" ? `it is ${now.status}` : undefined)
  }

  /** Undefined: a worker runs the instance, or other controls are on their way to it; so this one is to be a message. */
  async #controlUnowned(id: string, kind: "pause" | "cancel", reason: string | undefined): Promise<ControlResult | undefined> {
    if (this.#store.isRemote?.(id)) return undefined
    const site = { store: this.#store, worker: this.#worker, registry: this.#registry }
    for (let tries = 0; tries < unownedTriesMax; tries++) {
      const before = await existingRow(this.#store, id)
      if (refuse(kind, before) !== undefined || (await this.#worker.isExecuted(before))) return undefined
      const current = await readCurrentRun(this.#store, before)
      // The row is read after the journal: what anybody writes from here on is at the position that is to be written, and so nothing is missed.
      const row = await existingRow(this.#store, id)
      if (current === undefined || row.incarnation !== before.incarnation || row.run !== before.run) continue
      if (refuse(kind, row) !== undefined || (await this.#worker.isExecuted(row)) || (await this.#hasUnreadControls(id))) return undefined
      const answer = await controlUnowned(site, { ...current, row }, kind, reason)
      if (answer) return answer
    }
    return undefined
  }

  async terminate(id: string, { reason, rollback = false }: TerminateOptions): Promise<ControlResult> {
    checkText("reason", reason)
    // Its code has to say what is to be undone: so its owner does it.
    if (rollback) return this.control(id, "terminate", reason, withRollback)
    return writeForcedTurn({ store: this.#store, worker: this.#worker }, id, new TerminatedError(id, reason), (row) => {
      if (isTerminal(row.status)) return { refused: `it is ${row.status}` }
      return {
        entries: [terminatedEntry(reason)],
        run: row.run,
        state: (position) => ({ status: "terminated", run: row.run, runPosition: row.runPosition, endPosition: position }),
      }
    })
  }

  async delete(id: string): Promise<DeleteResult> {
    const row = await existingRow(this.#store, id)
    const removed = await this.#store.directory.remove([id])
    if (removed.length > 0) return { stillListed: false }
    throw new PerdureError("NOT_ENDED", `instance "${id}" is ${row.status}; terminate it before you delete it`, {
      details: { instance: id, status: row.status },
    })
  }

  /** A control on its way may change what the row says, so its owner is to judge the next one. */
  async #hasUnreadControls(id: string): Promise<boolean> {
    let after = 0
    for (let limit = lookedThroughMin; ; limit = Math.min(2 * limit, lookedThroughMax)) {
      const part = await this.#store.journal.readInbox([id], { after: [after], limit })
      if (part.some(({ kind }) => isControl(kind))) return true
      if (part.length < limit) return false
      after = part.at(-1)?.seq ?? after
    }
  }
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
function checkText(option: string, value: unknown): void {
  if (value === undefined || typeof value === "string") return
  throw new PerdureError("BAD_OPTION", `${option} must be a string; it is of type ${typeof value}`, { details: { option } })
}
