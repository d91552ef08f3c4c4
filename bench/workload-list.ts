import type { Workload } from "./workload.ts"
import { throughput } from "./workloads/w1-throughput.ts"
import { latency } from "./workloads/w2-latency.ts"
import { growth, sequentialSteps } from "./workloads/w3-sequence.ts"

export const workloads: readonly Workload[] = [throughput, latency, sequentialSteps, growth]
