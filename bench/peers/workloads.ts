// W1 to W7 for any engine. They are the workloads of bench/workloads on the interface of an adapter, without floors. Perdure
// is measured by the same code as the other engines.

import { setTimeout as delay } from "node:timers/promises"
import { residentSet } from "../resident-set.ts"
import { median, quantile } from "../statistics.ts"
import type { Sample } from "../workload.ts"
import { type Peer, type Place, sleepMs, type WorkflowKind } from "./adapter.ts"
import { rungAt } from "./doorbell.ts"
import { otherSender } from "./other-sender.ts"

export interface PeerWorkload {
  readonly id: string
  readonly title: string
  /** The workload measures a new process, so it has no warm-up. */
  readonly isCold?: true
  /** Set if the workload needs a second process: the engines whose adapters have a sender. */
  readonly sendersOf?: readonly string[]
  readonly measure: (peer: Peer, where: Where) => Promise<Sample>
}

/** The place, for a second process. */
export interface Where {
  readonly id: string
  readonly place: Place
}

const instances = 1_000
const stepsEach = 10
const longSteps = 1_000
const parallelSteps = 100
const sleepers = 100

/** An engine that polls slowly is measured less often: as often as fits into this time, but at least ten times. */
const roundMs = 6_000
const timesMin = 10

/** The pause before an event. The wait must be on disk, and a polling engine in any phase of its polling. */
const beforeEventMs = { min: 100, max: 600 }

let lastNumber = 0

async function resultOf(peer: Peer, kind: WorkflowKind, steps: number): Promise<number> {
  const startedAt = performance.now()
  const result = await (await peer.start(kind, steps)).result()
  const ms = performance.now() - startedAt
  if (result !== steps) throw new Error(`the result of ${kind} is ${String(result)}, not ${steps}`)
  return ms
}

async function repeated(times: number, run: () => Promise<number>): Promise<readonly number[]> {
  const latencies: number[] = []
  const startedAt = performance.now()
  while (latencies.length < times && (latencies.length < timesMin || performance.now() - startedAt < roundMs)) latencies.push(await run())
  return latencies
}

/** Milliseconds from the first start to the last result. */
async function manyAtOnce(peer: Peer): Promise<number> {
  const startedAt = performance.now()
  await Promise.all(Array.from({ length: instances }, () => resultOf(peer, "sequence", stepsEach)))
  return performance.now() - startedAt
}

/** Milliseconds from sending an event to the result. `send` resolves to the time of sending. */
async function eventToResult(peer: Peer, send: (number: number) => Promise<bigint>): Promise<number> {
  const number = ++lastNumber
  const started = await peer.start("listener", number)
  const result = started.result()
  await rungAt(number)
  await delay(beforeEventMs.min + Math.random() * (beforeEventMs.max - beforeEventMs.min))
  const endedAt = result.then(() => process.hrtime.bigint())
  const sentAt = await send(number)
  const received = await result
  if (received !== number) throw new Error(`the listener got ${String(received)}, not ${number}`)
  return Number((await endedAt) - sentAt) / 1e6
}

async function sendHere(peer: Peer, number: number): Promise<bigint> {
  const sentAt = process.hrtime.bigint()
  await peer.sendEvent(number, number)
  return sentAt
}

/** How many milliseconds after its wake-up time the code continued. */
async function lateness(peer: Peer): Promise<number> {
  const number = ++lastNumber
  const started = await peer.start("sleeper", number)
  const [wokenAt, askedAt] = await Promise.all([started.result(), rungAt(number)])
  // The clock has whole milliseconds, so on average half a millisecond more has passed.
  return wokenAt - askedAt - sleepMs + 0.5
}

export const peerWorkloads: readonly PeerWorkload[] = [
  {
    id: "W1",
    title: `${instances} instances of ${stepsEach} sequential steps, started at once`,
    async measure(peer) {
      const seconds = (await manyAtOnce(peer)) / 1_000
      return { workflowsPerSecond: instances / seconds, stepsPerSecond: (instances * stepsEach) / seconds }
    },
  },
  {
    id: "W2",
    title: "start an instance of one step and await its result, up to 100 times",
    async measure(peer) {
      const latencies = await repeated(100, () => resultOf(peer, "sequence", 1))
      return { startP50Ms: median(latencies), startP99Ms: quantile(latencies, 0.99) }
    },
  },
  {
    id: "W3",
    title: `one instance of ${longSteps} sequential steps`,
    measure: async (peer) => ({ stepMs: (await resultOf(peer, "sequence", longSteps)) / longSteps }),
  },
  {
    id: "W4",
    title: `one instance of ${parallelSteps} parallel steps, 10 times`,
    measure: async (peer) => ({ fanMs: median(await repeated(10, () => resultOf(peer, "fan", parallelSteps))) }),
  },
  {
    id: "W5",
    title: "send an event to an instance that waits for it, until it is completed, up to 12 times",
    measure: async (peer) => ({ eventMs: median(await repeated(12, () => eventToResult(peer, (number) => sendHere(peer, number)))) }),
  },
  {
    id: "W5-process",
    title: "the same, where another process sends the event",
    sendersOf: ["perdure-postgres", "dbos"],
    async measure(peer, { id, place }) {
      using sender = await otherSender(id, place)
      return { remoteEventMs: median(await repeated(12, () => eventToResult(peer, (number) => sender.send(number)))) }
    },
  },
  {
    id: "W6",
    title: "memory of the process after W1, the engine open",
    isCold: true,
    async measure(peer) {
      await manyAtOnce(peer)
      return { residentMb: residentSet().residentMb }
    },
  },
  {
    id: "W7",
    title: `${sleepers} instances that each sleep ${sleepMs} ms: how late their code goes on`,
    async measure(peer) {
      const late = await Promise.all(Array.from({ length: sleepers }, () => lateness(peer)))
      return { lateP50Ms: median(late), lateP99Ms: quantile(late, 0.99) }
    },
  },
]
