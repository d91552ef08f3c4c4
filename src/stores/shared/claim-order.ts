import { defaultQueue } from "../../core/workflow/task-queue.ts"
import type { NewInstance, Offer } from "../../ports/journal-store.ts"
import { integer, optionalText, text, type UntypedRow } from "./columns.ts"

/** What the claim order needs to know about an instance that must be claimed. */
export interface Claimable {
  readonly priority: number
  readonly at: number
  readonly key: number
  /** Whether the instance is a new start; otherwise it has begun already. */
  readonly isStart: boolean
  /** Workflow and version. Fairness keys take turns among instances with an equal `offer`. */
  readonly offer: string
  /** The key of the instance's narrowest limit, if the instance has a keyed limit. */
  readonly fairnessKey: string | undefined
}

/** The row has `key`, `claimable_at`, `priority`, `status`, `workflow`, `version` and `lane`. */
export function toClaimable<R extends UntypedRow>(row: R): Claimable & { readonly row: R } {
  return {
    row,
    key: integer(row, "key"),
    at: integer(row, "claimable_at"),
    priority: integer(row, "priority"),
    isStart: text(row, "status") === "queued",
    offer: `${text(row, "workflow")}/${text(row, "version")}`,
    fairnessKey: optionalText(row, "lane"),
  }
}

/**
 * The order in which instances are claimed: the highest priority first; of one priority, instances that have begun before new starts; then the
 * instance that has been due for longest. `startsMin` new starts of each priority go before instances that have begun, so that new starts get a share.
 * The fairness keys of one workflow take turns in the places that the workflow has, so a burst of one key does not delay the other keys.
 */
export function inClaimOrder<T extends Claimable>(items: readonly T[], startsMin = 0): T[] {
  const sorted = items.toSorted((a, b) => b.priority - a.priority || Number(a.isStart) - Number(b.isStart) || a.at - b.at || a.key - b.key)
  const groups = new Map<string, number[]>()
  sorted.forEach(({ fairnessKey: lane, offer, priority, isStart }, place) => {
    if (lane === undefined) return
    const group = `${priority}/${isStart}/${offer}`
    const places = groups.get(group)
    if (places) places.push(place)
    else groups.set(group, [place])
  })
  const ordered = [...sorted]
  for (const places of groups.values()) inTurns(places.map((place) => sorted[place]!)).forEach((item, index) => (ordered[places[index]!] = item))
  return startsMin === 0 ? ordered : withStartsFirst(ordered, startsMin)
}

/** Moves the first `startsMin` new starts of each priority before all other instances of that priority. */
function withStartsFirst<T extends Claimable>(ordered: readonly T[], startsMin: number): T[] {
  const starts = new Map<number, number>()
  const ranked = ordered.map((item) => {
    const before = starts.get(item.priority) ?? 0
    if (item.isStart) starts.set(item.priority, before + 1)
    return { item, rank: item.isStart && before < startsMin ? 0 : 1 }
  })
  return ranked.toSorted((a, b) => b.item.priority - a.item.priority || a.rank - b.rank).map(({ item }) => item)
}

/** The first instance of each fairness key, then the second of each, and so on. */
function inTurns<T extends Claimable>(items: readonly T[]): T[] {
  const ranks = new Map<string, number>()
  const ranked = items.map((item) => {
    const rank = ranks.get(item.fairnessKey ?? "") ?? 0
    ranks.set(item.fairnessKey ?? "", rank + 1)
    return { item, rank }
  })
  return ranked.toSorted((a, b) => a.rank - b.rank).map(({ item }) => item)
}

/** Whether a worker with this offer may claim the instance. */
export function isOffered({ workflow, version, queue = defaultQueue }: Pick<NewInstance, "workflow" | "version" | "queue">, offer: Offer): boolean {
  return offer.workflow === workflow && offer.version === version && (offer.queues === undefined || offer.queues.includes(queue))
}
