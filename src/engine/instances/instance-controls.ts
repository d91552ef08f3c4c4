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

/** How many unread messages one read looks through. The number doubles with each read, because a control is usually found soon. */
const inboxPageMin = 32
const inboxPageMax = 4_096
/** The payload of a terminate message. Only a terminate with rollback is sent as a message. */
const withRollback = "rollback"

/** How often the caller tries to write a control itself. After that it sends a message, which the owner of the instance handles. */
const unownedTriesMax = 3

/**
 * The controls and events that callers send to an instance. Events, pause, resume and cancel are messages, which the owner of the instance handles.
 * A terminate does not wait for the owner: the caller writes it as a turn at the next position. A pause or a cancel of an instance without an owner
 * is written in the same way.
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

  /** The message that carries an event. If this process has the workflow, the payload is checked against the schema of the event. */
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
   * Marks the message as checked: the store then refuses the event if the row of the instance does not list its type. The code of this process may
   * declare types that were added after the instance was created. Events of these types are not marked, so the store accepts them.
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
    // Without a schema for this type, the row of the instance is not needed. The delivery itself reports an instance that does not exist.
    const target = residents.get(id)?.identity ?? (this.#registry.checksEvent(type) ? await existingRow(this.#store, id) : undefined)
    const event = await this.eventMessage(id, target && { name: target.workflow, version: target.version }, type, payload, options)
    const message = target ? this.#checked(event, target) : { ...event, isChecked: true as const }
    await messages.enter?.()
    const resident = residents.get(id)
    // The store does not check events that go straight into the journal.
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
    if (refusalOf(kind, row) !== undefined && !(await this.#hasUnreadControls(id))) {
      // A control that was unread a moment ago may have changed the row.
      row = await existingRow(this.#store, id)
      const refusal = refusalOf(kind, row)
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
    // The hint comes before the answer, so that the owner acts on the control at its next step boundary.
    this.#worker.hint([id])
    const now = await existingRow(this.#store, id)
    return controlResult(now, delivery === "ended" ? `it is ${now.status}` : undefined)
  }

  /** Returns undefined if a worker runs the instance, or if other controls are unread. Then this control has to be a message. */
  async #controlUnowned(id: string, kind: "pause" | "cancel", reason: string | undefined): Promise<ControlResult | undefined> {
    if (this.#store.isRemote?.(id)) return undefined
    const context = { worker: this.#worker, registry: this.#registry }
    for (let tries = 0; tries < unownedTriesMax; tries++) {
      const before = await existingRow(this.#store, id)
      if (refusalOf(kind, before) !== undefined || (await this.#worker.isExecuted(before))) return undefined
      const current = await readCurrentRun(this.#store, before)
      // The row is read after the journal. A turn that is written from here on takes the position of this one, so this one is lost and nothing is missed.
      const row = await existingRow(this.#store, id)
      if (current === undefined || row.incarnation !== before.incarnation || row.run !== before.run) continue
      if (refusalOf(kind, row) !== undefined || (await this.#worker.isExecuted(row)) || (await this.#hasUnreadControls(id))) return undefined
      const answer = await controlUnowned(context, { ...current, row }, kind, reason)
      if (answer) return answer
    }
    return undefined
  }

  async terminate(id: string, { reason, rollback = false }: TerminateOptions): Promise<ControlResult> {
    checkText("reason", reason)
    // Only the code knows the rollbacks, so the owner has to run them.
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

  /** An unread control may change the row. Then only the owner can decide about the next control. */
  async #hasUnreadControls(id: string): Promise<boolean> {
    let after = 0
    for (let limit = inboxPageMin; ; limit = Math.min(2 * limit, inboxPageMax)) {
      const part = await this.#store.journal.readInbox([id], { after: [after], limit })
      if (part.some(({ kind }) => isControl(kind))) return true
      if (part.length < limit) return false
      after = part.at(-1)?.seq ?? after
    }
  }
}

/** The reason why a control can have no effect on an instance in this state; undefined if it can. */
function refusalOf(kind: ControlKind, row: InstanceRow): string | undefined {
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

/** Callers without types may pass anything. A value that is no text would fail the batch of messages that is written with it. */
function checkText(option: string, value: unknown): void {
  if (value === undefined || typeof value === "string") return
  throw new PerdureError("BAD_OPTION", `${option} must be a string; it is of type ${typeof value}`, { details: { option } })
}
