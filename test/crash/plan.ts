import { SeededRandom } from "../../src/core/execution/seeded-random.ts"
import type { PartName, SceneInput } from "./workflows.ts"

/** One instance of the kill test: its input and events, and its expected result. */
export interface Plan {
  readonly id: string
  readonly workflow: PartName
  readonly input: SceneInput
  readonly events: readonly PlannedEvent[]
  /** Whether the start and the first event are one request. */
  readonly startsWithEvent: boolean
  readonly value: number
}

export interface PlannedEvent {
  readonly type: string
  readonly payload: number
  readonly eventId: string
  /** The time after the acknowledgement of the event before, or of the start. */
  readonly afterMs: number
  /** Whether the event is sent twice. It must be received once. */
  readonly twice: boolean
}

/** The expected result of each workflow, computed by hand and not by its code. */
const values: Record<PartName, (n: number) => number> = {
  chain: (n) => 81 * n + 18,
  retries: (n) => 2 * n + 2,
  sleeper: (n) => n + 12,
  collector: (n) => 401 * n + 109,
  racer: (n) => 3 * n + 50,
  nester: (n) => 5 * n + 80,
  fan: (n) => 6 * n + 7,
  mixed: (n) => 10 * n + 132,
}

const flag = (n: number) => ({ type: "flag", payload: n + 50 })
const poke = (n: number) => ({ type: "poke", payload: n + 70 })
const item = (n: number) => ({ type: "item", payload: n })

const events: Partial<Record<PartName, (n: number) => readonly { type: string; payload: number }[]>> = {
  collector: (n) => [item(n), item(n + 1), item(n + 2), { type: "go", payload: n + 100 }],
  racer: (n) => [flag(n)],
  nester: (n) => [poke(n)],
  mixed: (n) => [poke(n), flag(n)],
}

export function makePlans(seed: number, count: number): readonly Plan[] {
  const random = new SeededRandom(`plan ${seed}`)
  const upTo = (max: number) => Math.floor(random.next() * (max + 1))
  const names = Object.keys(values) as PartName[]
  return Array.from({ length: count }, (_, n): Plan => {
    const workflow = names[n % names.length]!
    const id = `${workflow}-${n}`
    return {
      id,
      workflow,
      input: {
        n,
        ms: Array.from({ length: 6 }, () => (random.next() < 0.2 ? 0 : upTo(60))),
        napMs: [20 + upTo(180), 20 + upTo(180)],
        failures: upTo(2),
      },
      events: (events[workflow]?.(n) ?? []).map((event, index) => ({
        ...event,
        eventId: `${id}.${index}`,
        afterMs: upTo(150),
        twice: random.next() < 0.3,
      })),
      startsWithEvent: random.next() < 0.25,
      value: values[workflow](n),
    }
  })
}
