import type { Hint } from "../../ports/store.ts"

/** A notification is at most 8,000 bytes long; beyond this, ids are left out. */
const idsBytesMax = 4_000

/** Letters that an id may follow, and what is told in the place of too many ids. */
const withIds = { e: "e", l: "w", m: "w" } as const
type WithIds = keyof typeof withIds
const lettersWithIds = Object.keys(withIds) as WithIds[]

/**
 * The flags of a notification (see Hints): letters, an "e" that an id follows for each instance that has ended, an "l" with the id of each
 * that was let in, an "m" with that of each that has new messages. On the way they are `<sender>:<letters>`, and where there are ids, JSON
 * after another colon: those of each letter. What cannot be read may be about anything. `mail`: what it is about goes along on another channel, for those
 * who listen to that as well.
 */
export function toPayload(sender: string, flags: ReadonlySet<string>, mail?: "with mail"): string {
  const ids = lettersWithIds.map((letter) => [letter, flags.has(letter) ? [] : idsOf(flags, letter)] as const).filter(([, named]) => named.length > 0)
  const list = ids.length === 0 ? "" : JSON.stringify({ ...Object.fromEntries(ids), ...(mail && { mail: 1 }) })
  const isTooLong = new TextEncoder().encode(list).length > idsBytesMax
  const letters = [...flags].map((flag) => (isTooLong && flag.length > 1 ? withIds[flag.charAt(0) as WithIds] : flag.charAt(0)))
  const head = `${sender}:${[...new Set(letters)].join("")}`
  return list === "" || isTooLong ? head : `${head}:${list}`
}

export interface Told {
  readonly sender: string
  readonly flags: readonly string[]
  readonly hasMail: boolean
}

export function fromPayload(payload: string): Told {
  const [sender = "", letters = "weac"] = payload.split(":", 2)
  const list = payload.slice(sender.length + letters.length + 2)
  const flags = letters.split("")
  if (list === "") return { sender, flags, hasMail: false }
  try {
    const { mail, ...ids } = JSON.parse(list) as { readonly mail?: number } & Readonly<Partial<Record<string, readonly string[]>>>
    const named = lettersWithIds.flatMap((letter) => (ids[letter] ?? []).map((id) => `${letter}${id}`))
    return { sender, flags: [...flags.filter((flag) => ids[flag] === undefined), ...named], hasMail: mail === 1 }
  } catch {
    return { sender, flags, hasMail: false }
  }
}

export function idsOf(flags: ReadonlySet<string>, letter: WithIds): readonly string[] {
  return [...flags].filter((flag) => flag.length > 1 && flag.startsWith(letter)).map((flag) => flag.slice(1))
}

export function toHint(flags: ReadonlySet<string>): Hint {
  const ended = idsOf(flags, "e")
  const mailed = idsOf(flags, "m")
  const hasEnded = flags.has("e") || ended.length > 0
  return {
    work: flags.has("w") || (mailed.length > 0 && mailed),
    ends: flags.has("e") || (ended.length > 0 && ended),
    answers: flags.has("a") || hasEnded,
    changed: flags.has("c") || flags.has("w") || hasEnded,
  }
}
