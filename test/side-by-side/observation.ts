// What drivers look at, in a form that can be compared and sent as JSON.

import type { WorkflowInstance, WorkflowInstanceEvent, WorkflowInstanceSubscribeOptions } from "perdure/cloudflare-workflows"

const pollMs = 10
const endings = new Set(["complete", "errored", "terminated"])

export const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** The end of the instance, and all its events. */
export async function report(instance: WorkflowInstance): Promise<Record<string, unknown>> {
  return { end: await ended(instance), events: await eventsOf(instance) }
}

/** Waits for the end of the instance, and gives its status. */
export async function ended(instance: WorkflowInstance): Promise<Record<string, unknown>> {
  return becomes(instance, (status) => endings.has(status))
}

/** Waits until the status is the wanted one. `waiting` and `rollingBack` are `running`, because Cloudflare's local engine tells no difference. */
export async function becomes(instance: WorkflowInstance, wanted: string | ((status: string) => boolean)): Promise<Record<string, unknown>> {
  for (;;) {
    const status = await statusOf(instance)
    const shown = String(status["status"])
    if (typeof wanted === "string" ? shown === wanted : wanted(shown)) return status
    await pause(pollMs)
  }
}

/** The status as it is compared: status, output, and name and message of the error. */
export async function statusOf(instance: WorkflowInstance): Promise<Record<string, unknown>> {
  // Cloudflare's local engine does not find an instance in the first moment after its creation.
  const given = await instance.status().catch(() => undefined)
  if (given === undefined) return { status: "unknown" }
  const { status, output, error } = given
  const shown = status === "waiting" || status === "rollingBack" ? "running" : status
  return { status: shown, output: plain(output), ...(error && { error: errorText(error) }) }
}

/** Reads events until the last one, or until `isLast`. */
export async function eventsOf(
  instance: WorkflowInstance,
  options?: WorkflowInstanceSubscribeOptions,
  isLast: (event: WorkflowInstanceEvent) => boolean = () => false,
): Promise<readonly string[]> {
  return (await rawEventsOf(instance, options, isLast)).map(eventLine)
}

export async function rawEventsOf(
  instance: WorkflowInstance,
  options?: WorkflowInstanceSubscribeOptions,
  isLast: (event: WorkflowInstanceEvent) => boolean = () => false,
): Promise<readonly WorkflowInstanceEvent[]> {
  const events: WorkflowInstanceEvent[] = []
  const subscription = await subscribed(instance, options)
  try {
    for (let next = await subscription.next(); next.done !== true; next = await subscription.next()) {
      events.push(next.value)
      if (isLast(next.value)) break
    }
    return events
  } finally {
    subscription[Symbol.dispose]()
  }
}

/** Waits for the n-th event of this type. */
export async function happens(instance: WorkflowInstance, type: WorkflowInstanceEvent["type"], times = 1): Promise<void> {
  let seen = 0
  await rawEventsOf(instance, { filter: [type] }, () => ++seen === times)
}

async function subscribed(instance: WorkflowInstance, options?: WorkflowInstanceSubscribeOptions) {
  for (let tries = 0; ; tries++) {
    try {
      return await instance.subscribe(options)
    } catch (error) {
      if (tries === 100 || !String(error).includes("not_found")) throw error
      await pause(pollMs)
    }
  }
}

/** What a call gave, or what it threw. */
export async function outcomeOf(call: () => unknown): Promise<unknown> {
  try {
    return { gave: plain(await call()) }
  } catch (error) {
    return { threw: plain(error) }
  }
}

/** Waits until the condition holds. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await pause(pollMs)
}

/** The event in one line, without its id, its times and the config of the step. */
function eventLine({ type, eventId: _, timestamp: __, instanceId: ___, ...rest }: WorkflowInstanceEvent): string {
  const { stepName = "", config: ____, durationMs: _____, ...fields } = rest as { stepName?: string; config?: unknown; durationMs?: number }
  const shown = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key} ${fieldText(key, value)}`)
  return [type, stepName, ...shown].filter((word) => word !== "").join(" ")
}

function fieldText(key: string, value: unknown): string {
  if (key === "error") return errorText(value as Error)
  // Our engine stores when the next attempt begins, and not how long that is after the event. So programs use delays of 200 ms and more.
  if (key === "retryDelayMs") return String(Math.round(Number(value) / 200) * 200)
  return JSON.stringify(plain(value))
}

/**
 * The error as one text. Cloudflare sends errors from isolate to isolate, where one with a name of its own becomes an `Error` whose message begins with that
 * name. One program shows this; everywhere else the text is the same.
 */
export function errorText({ name, message }: { name: string; message: string }): string {
  return `${name}: ${message}`.replace(/^Error: (?=[A-Z]\w*: )/, "")
}

/** The value as JSON has it; what JSON has not is told in words. */
export function plain(value: unknown): unknown {
  if (value === undefined) return "(undefined)"
  if (typeof value === "bigint") return `(bigint ${value})`
  if (typeof value === "number") return Number.isFinite(value) && !Object.is(value, -0) ? value : `(${Object.is(value, -0) ? "-0" : value})`
  if (typeof value === "function" || typeof value === "symbol") return `(${typeof value})`
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map(plain)
  if (value instanceof Error) return errorText(value)
  if (value instanceof Date) return `(Date ${value.getTime()})`
  if (value instanceof Map) return { map: plain([...value]) }
  if (value instanceof Set) return { set: plain([...value]) }
  if (value instanceof RegExp) return `(RegExp ${String(value)})`
  if (value instanceof ReadableStream) return "(ReadableStream)"
  if (value instanceof ArrayBuffer) return `(ArrayBuffer ${String(new Uint8Array(value))})`
  if (ArrayBuffer.isView(value)) return `(${value.constructor.name} ${String(new Uint8Array(value.buffer, value.byteOffset, value.byteLength))})`
  // Sorted, because the text of an event holds whole values.
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(fields.map(([key, field]) => [key, plain(field)]))
}
