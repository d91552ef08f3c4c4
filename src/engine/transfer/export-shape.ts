import { type Argument, badOption, each, fields, flag, maybe, text, whole, word } from "../../core/arguments/argument.ts"
import { storedPayload } from "../../core/values/encoded-payload.ts"
import { checkTags } from "../../core/workflow/input-limits.ts"
import { statuses } from "../../core/journal/status.ts"

/** The shapes of the lines of an export. The lines are checked because anybody may have written the file. */

const name: Argument = (value, of) => {
  const given = text(value, of) as string
  return given === "" ? text(undefined, of) : given
}
/** The incarnation becomes part of cursors, and so of streams and headers. */
const incarnation: Argument = (value, of) => {
  if (typeof value === "string" && /^[\w.~:@=,-]{1,300}$/.test(value)) return value
  throw badOption(of, value, "at most 300 letters, digits and . _ : @ - ~ = ,")
}
const instant = whole(0)
const optional = { text: maybe(text), instant: maybe(instant), position: maybe(whole(1)) }

const limit = fields({
  kind: word(["concurrency", "rate"]),
  workflow: name,
  name: text,
  key: text,
  isKeyed: flag,
  hold: flag,
  max: whole(0),
  perMs: optional.instant,
})
const flow = fields({
  priority: maybe(whole(-1_000, 1_000)),
  limits: maybe(each(limit)),
  unique: maybe(each(fields({ kind: word(["singleton", "debounce"]), key: text }))),
})

export const instanceShape = fields({
  id: name,
  incarnation,
  workflow: name,
  version: name,
  createdAt: instant,
  tags: (value, of) => checkTags(each(text)(value, of) as readonly string[]),
  queue: maybe(name),
  events: maybe(each(text)),
  flow: maybe(flow),
})

export const stateShape = fields({
  status: word(statuses),
  run: whole(1),
  runPosition: whole(1),
  endPosition: optional.position,
  phase: maybe(word(["pausing", "cancelling", "rollingBack"])),
  dueAt: optional.instant,
  deadlineAt: optional.instant,
})

export const rowShape = fields({ turn: name, position: whole(1), count: whole(1), run: whole(1), at: instant, blobs: maybe(each(text)) })

const message = fields({
  kind: word(["event", "child", "update", "pause", "resume", "cancel", "terminate"]),
  at: instant,
  topic: optional.text,
  payload: optional.text,
  eventId: optional.text,
})

/** The text of a stored value, which any payload codec may have encoded. */
const storedValue: Argument = (value, of) => {
  try {
    storedPayload(text(value, of) as string, undefined).shown()
    return value
  } catch {
    throw badOption(of, value, "the text of a stored value")
  }
}

export const memoShape: Argument = maybe(storedValue)

export const messageShape: Argument = (value, of) => {
  const read = message(value, of) as { readonly kind: string; readonly payload?: unknown }
  // The payloads of other kinds are written by the engine itself.
  if (read.kind === "event" || read.kind === "update") maybe(storedValue)(read.payload, "payload")
  return read
}
