import type { MirroredInstance, RawEntry } from "./journal-mirror.ts"
import { keyOf, type Definition, type FlowLimit } from "./program.ts"

/**
 * Checks in the journals that a limit never admits too many instances at a time. An instance has its slot from the turn in which its code
 * asks for something until the turn after which it no longer runs. With `hold` it has the slot until the turn of its end or pause.
 * A crash changes nothing: the instance continues in another process, and keeps its slot meanwhile.
 */
export class SlotAudit {
  /** How often a slot was taken, and how often it was the last free one. */
  taken = 0
  filled = 0
  readonly #definitions: ReadonlyMap<string, Definition>
  readonly #report: (violation: string) => void
  readonly #inside = new Map<string, Set<string>>()

  constructor(definitions: ReadonlyMap<string, Definition>, report: (violation: string) => void) {
    this.#definitions = definitions
    this.#report = report
  }

  /** Checks a turn, after it was applied to the instance. */
  turn(id: string, { workflow, start, status }: MirroredInstance, entries: readonly RawEntry[]): void {
    const limits = this.#definitions.get(workflow)?.flow?.limits ?? []
    const runs = entries.some((entry) => entry.type.endsWith(".started") && "id" in entry)
    limits.forEach((limit, index) => {
      const key = `${workflow} limit ${index}${limit.isKeyed ? ` key ${keyOf(start)}` : ""}`
      const inside = this.#inside.get(key) ?? new Set()
      this.#inside.set(key, inside)
      if (runs && !inside.has(id)) this.#enter(id, key, limit, inside)
      if (status !== "running" && !(limit.hold && (status === "sleeping" || status === "waiting"))) inside.delete(id)
    })
  }

  #enter(id: string, key: string, { limit }: FlowLimit, inside: Set<string>): void {
    inside.add(id)
    this.taken++
    if (inside.size === limit) this.filled++
    if (inside.size > limit) this.#report(`${id} runs along with ${[...inside].filter((other) => other !== id).join()}: ${key} lets ${limit} run at a time`)
  }
}
