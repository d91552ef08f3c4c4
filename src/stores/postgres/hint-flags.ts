import type { Hint } from "../../ports/store.ts"

/** A notification is at most 8,000 bytes long; beyond this, ids are left out. */
const idsBytesMax = 4_000

/**
 * The flags of a notification (see Hints): letters, and an "e" that an id follows for each instance that has ended. On the way they are
 * `<sender>:<letters>`, and where there are ids a JSON array of them after another colon. What cannot be read may be about anything.
 */
export function toPayload(sender: string, flags: ReadonlySet<string>): string {
  const letters = new Set([...flags].map((flag) => flag.charAt(0)))
  const ids = [...flags].filter((flag) => flag.length > 1).map((flag) => flag.slice(1))
  const list = flags.has("e") || ids.length === 0 ? "" : JSON.stringify(ids)
  const head = `${sender}:${[...letters].join("")}`
  return list === "" || new TextEncoder().encode(list).length > idsBytesMax ? head : `${head}:${list}`
}

export function fromPayload(payload: string): { readonly sender: string; readonly flags: readonly string[] } {
  const [sender = "", letters = "weac"] = payload.split(":", 2)
  const list = payload.slice(sender.length + letters.length + 2)
  const flags = letters.split("")
  if (list === "") return { sender, flags }
  try {
    const ids = JSON.parse(list) as readonly string[]
    return { sender, flags: [...flags.filter((flag) => flag !== "e"), ...ids.map((id) => `e${id}`)] }
  } catch {
    return { sender, flags }
  }
}

export function toHint(flags: ReadonlySet<string>): Hint {
  const ended = [...flags].filter((flag) => flag.length > 1).map((flag) => flag.slice(1))
  const hasEnded = flags.has("e") || ended.length > 0
  return {
    work: flags.has("w"),
    ends: flags.has("e") || (ended.length > 0 && ended),
    answers: flags.has("a") || hasEnded,
    changed: flags.has("c") || flags.has("w") || hasEnded,
  }
}
