import type { Workload } from "./workload.ts"
import { crowdedStore } from "./workloads/crowded-store.ts"
import { throughput } from "./workloads/w1-throughput.ts"
import { latency } from "./workloads/w2-latency.ts"
import { replay } from "./workloads/w3-replay.ts"
import { growth, sequentialSteps } from "./workloads/w3-sequence.ts"
import { fanOut } from "./workloads/w4-fan-out.ts"
import { event } from "./workloads/w5-event.ts"
import { memory } from "./workloads/w6-memory.ts"
import { sleep } from "./workloads/w7-sleep.ts"
import { sleepingCrowd } from "./workloads/w8-sleeping-crowd.ts"

export const workloads: readonly Workload[] = [throughput, latency, sequentialSteps, growth, replay, fanOut, event, memory, sleep, sleepingCrowd, crowdedStore]
