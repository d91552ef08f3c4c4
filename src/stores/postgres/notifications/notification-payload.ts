import type { Hint } from "../../../ports/store.ts"

/** A notification is at most 8,000 bytes long; beyond this, ids are left out. */
const idsBytesMax = 4_000

/** Letters that an id may follow, and what is told in the place of too many ids. */
const withIds = { e: "e", l: "w", m: "w" } as const
type WithIds = keyof typeof withIds
const lettersWithIds = Object.keys(withIds) as WithIds[]

/**
 * The flags of a notification (see Hints): letters, an "e" that an id follows for each instance that has ended, an "l" with the id of each
 * that was let in, an "m" with that of each that has new messages. On the way they are `<sender>:<letters>`, and where there are ids, JSON
 * after another colon: those of each letter. What cannot be read may be about anything.
 */
export function toPayload(sender: string, flags: ReadonlySet<string>): string {
  const ids = lettersWithIds.map((letter) => [letter, flags.has(letter) ? [] : idsOf(flags, letter)] as const).filter(([, named]) => named.length > 0)
  const list = ids.length === 0 ? "" : JSON.stringify(Object.fromEntries(ids))
  const isTooLong = new TextEncoder().encode(list).length > idsBytesMax
  const letters = [...flags].map((flag) => (isTooLong && flag.length > 1 ? withIds[flag.charAt(0) as WithIds] : flag.charAt(0)))
  const head = `${sender}:${[...new Set(letters)].join("")}`
  return list === "" || isTooLong ? head : `${head}:${list}`
}

/** The same for one message, without a detour: what is told, and what where the message goes along. */
export function mailPayloads(sender: string, instance: string): { readonly payload: string; readonly payloadWithMail: string } {
  const id = JSON.stringify(instance)
  if (id.length * 3 > idsBytesMax) return { payload: `${sender}:w`, payloadWithMail: `${sender}:w` }
  return { payload: `${sender}:m:{"m":[${id}]}`, payloadWithMail: `${sender}:m:{"m":[${id}]${mailGoesAlong}` }
}

const mailGoesAlong = `,"mail":1}`

/** What it is about went along. */
export function hasMail(payload: string): boolean {
  return payload.endsWith(mailGoesAlong)
}

export interface Told {
  readonly sender: string
  readonly flags: readonly string[]
}

export function fromPayload(payload: string): Told {
  const [sender = "", letters = "weac"] = payload.split(":", 2)
  const list = payload.slice(sender.length + letters.length + 2)
  const flags = letters.split("")
  if (list === "") return { sender, flags }
  try {
    const ids = JSON.parse(list) as Readonly<Partial<Record<string, readonly string[]>>>
    const named = lettersWithIds.flatMap((letter) => (ids[letter] ?? []).map((id) => `${letter}${id}`))
    return { sender, flags: [...flags.filter((flag) => ids[flag] === undefined), ...named] }
  } catch {
    return { sender, flags }
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
    updatesAnswered: flags.has("a") || hasEnded,
    changed: flags.has("c") || flags.has("w") || hasEnded,
  }
}
