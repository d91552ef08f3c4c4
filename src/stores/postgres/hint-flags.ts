import type { Hint } from "../../ports/store.ts"

/** A notification is at most 8,000 bytes long; beyond this, ids are left out. */
const idsBytesMax = 4_000

/** Letters that an id may follow, and what is told in the place of too many ids. */
const withIds = { e: "e", l: "w" } as const

/**
 * The flags of a notification (see Hints): letters, an "e" that an id follows for each instance that has ended, and an "l" with the id of each
 * that was let in. On the way they are `<sender>:<letters>`, and where there are ids, JSON after another colon: those of each letter, or
 * an array where all are of "e". What cannot be read may be about anything.
 */
export function toPayload(sender: string, flags: ReadonlySet<string>): string {
  const ended = flags.has("e") ? [] : idsOf(flags, "e")
  const letIn = idsOf(flags, "l")
  const letters = new Set([...flags].map((flag) => flag.charAt(0)))
  const list = letIn.length > 0 ? JSON.stringify({ e: ended, l: letIn }) : ended.length > 0 ? JSON.stringify(ended) : ""
  const isTooLong = new TextEncoder().encode(list).length > idsBytesMax
  const said = [...letters].map((letter) => (isTooLong && letter === "l" ? withIds.l : letter))
  const head = `${sender}:${[...new Set(said)].join("")}`
  return list === "" || isTooLong ? head : `${head}:${list}`
}

export function fromPayload(payload: string): { readonly sender: string; readonly flags: readonly string[] } {
  const [sender = "", letters = "weac"] = payload.split(":", 2)
  const list = payload.slice(sender.length + letters.length + 2)
  const flags = letters.split("")
  if (list === "") return { sender, flags }
  try {
    const ids = JSON.parse(list) as readonly string[] | Readonly<Record<"e" | "l", readonly string[]>>
    const { e, l } = Array.isArray(ids) ? { e: ids as readonly string[], l: [] } : (ids as Readonly<Record<"e" | "l", readonly string[]>>)
    const others = flags.filter((flag) => (flag !== "e" || e.length === 0) && flag !== "l")
    return { sender, flags: [...others, ...e.map((id) => `e${id}`), ...l.map((id) => `l${id}`)] }
  } catch {
    return { sender, flags }
  }
}

export function idsOf(flags: ReadonlySet<string>, letter: keyof typeof withIds): readonly string[] {
  return [...flags].filter((flag) => flag.length > 1 && flag.startsWith(letter)).map((flag) => flag.slice(1))
}

export function toHint(flags: ReadonlySet<string>): Hint {
  const ended = idsOf(flags, "e")
  const hasEnded = flags.has("e") || ended.length > 0
  return {
    work: flags.has("w"),
    ends: flags.has("e") || (ended.length > 0 && ended),
    answers: flags.has("a") || hasEnded,
    changed: flags.has("c") || flags.has("w") || hasEnded,
  }
}
