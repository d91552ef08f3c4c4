import type { Hint } from "../../../ports/store.ts"
import { everyKind, NotificationKind } from "./notification-kind.ts"

/** PostgreSQL allows a payload of 8,000 bytes. A payload whose ids need more bytes than this has no ids. */
const idsBytesMax = 4_000

/** Kinds that may name an instance, and the kind that takes their place if there are too many ids. */
const withIds = {
  [NotificationKind.ended]: NotificationKind.ended,
  [NotificationKind.admitted]: NotificationKind.work,
  [NotificationKind.message]: NotificationKind.work,
} as const
type KindWithIds = keyof typeof withIds
const kindsWithIds = Object.keys(withIds) as KindWithIds[]

/**
 * Writes the flags of a notification as its payload. A flag is the letter of a kind, which an instance's id may follow. The payload is
 * `<sender>:<letters>`, and if there are ids, another colon and JSON with the ids of each letter. A payload that cannot be read may be about anything.
 */
export function toPayload(sender: string, flags: ReadonlySet<string>): string {
  const ids = kindsWithIds.map((kind) => [kind, flags.has(kind) ? [] : idsOf(flags, kind)] as const).filter(([, named]) => named.length > 0)
  const list = ids.length === 0 ? "" : JSON.stringify(Object.fromEntries(ids))
  const isTooLong = new TextEncoder().encode(list).length > idsBytesMax
  const letters = [...flags].map((flag) => (isTooLong && flag.length > 1 ? withIds[flag.charAt(0) as KindWithIds] : flag.charAt(0)))
  const head = `${sender}:${[...new Set(letters)].join("")}`
  return list === "" || isTooLong ? head : `${head}:${list}`
}

/** The payload about one message; and the payload that also says that the message itself was pushed. */
export function messagePayloads(sender: string, instance: string): { readonly payload: string; readonly payloadIfPushed: string } {
  const id = JSON.stringify(instance)
  const { work, message } = NotificationKind
  if (id.length * 3 > idsBytesMax) return { payload: `${sender}:${work}`, payloadIfPushed: `${sender}:${work}` }
  const list = `{"${message}":[${id}]`
  return { payload: `${sender}:${message}:${list}}`, payloadIfPushed: `${sender}:${message}:${list}${pushedMark}` }
}

const pushedMark = `,"pushed":1}`

/** The message itself was pushed as well. */
export function isPushed(payload: string): boolean {
  return payload.endsWith(pushedMark)
}

export interface SentFlags {
  readonly sender: string
  readonly flags: readonly string[]
}

export function fromPayload(payload: string): SentFlags {
  const [sender = "", letters = everyKind.join("")] = payload.split(":", 2)
  const list = payload.slice(sender.length + letters.length + 2)
  const flags = letters.split("")
  if (list === "") return { sender, flags }
  try {
    const ids = JSON.parse(list) as Readonly<Partial<Record<string, readonly string[]>>>
    const named = kindsWithIds.flatMap((kind) => (ids[kind] ?? []).map((id) => `${kind}${id}`))
    return { sender, flags: [...flags.filter((flag) => ids[flag] === undefined), ...named] }
  } catch {
    return { sender, flags }
  }
}

export function idsOf(flags: ReadonlySet<string>, kind: KindWithIds): readonly string[] {
  return [...flags].filter((flag) => flag.length > 1 && flag.startsWith(kind)).map((flag) => flag.slice(1))
}

export function toHint(flags: ReadonlySet<string>): Hint {
  const { work, message, ended, updateAnswered, changed, tasks } = NotificationKind
  const endedIds = idsOf(flags, ended)
  const messageIds = idsOf(flags, message)
  const hasEnded = flags.has(ended) || endedIds.length > 0
  return {
    work: flags.has(work) || (messageIds.length > 0 && messageIds),
    ends: flags.has(ended) || (endedIds.length > 0 && endedIds),
    updatesAnswered: flags.has(updateAnswered) || hasEnded,
    changed: flags.has(changed) || flags.has(work) || hasEnded,
    tasks: flags.has(tasks),
  }
}
