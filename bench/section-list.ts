import { activityWorkloads } from "./activities/section.ts"
import { dialectWorkloads } from "./dialect/section.ts"
import { objectSectionWorkloads } from "./objects/section.ts"
import type { Section } from "./section.ts"
import { growthByResident, growthBySleeping } from "./workloads/growth-memory.ts"
import { growthByRows } from "./workloads/growth-rows.ts"
import { growthBySteps } from "./workloads/growth-steps.ts"
import { httpLoad } from "./workloads/http-load.ts"
import { throughput } from "./workloads/w1-throughput.ts"
import { workers } from "./workloads/w1-workers.ts"
import { latency } from "./workloads/w2-latency.ts"
import { replay } from "./workloads/w3-replay.ts"
import { sequentialSteps } from "./workloads/w3-sequence.ts"
import { fanOut } from "./workloads/w4-fan-out.ts"
import { event } from "./workloads/w5-event.ts"
import { memory } from "./workloads/w6-memory.ts"
import { sleep } from "./workloads/w7-sleep.ts"
import { sleepingCrowd } from "./workloads/w8-sleeping-crowd.ts"
import { burst } from "./workloads/w9-burst.ts"

export const sections = {
  workloads: { name: "workloads", workloads: [throughput, workers, latency, sequentialSteps, replay, fanOut, event, memory, sleep, sleepingCrowd, burst] },
  objects: { name: "objects", workloads: objectSectionWorkloads },
  dialect: { name: "dialect", workloads: dialectWorkloads },
  activities: { name: "activities", workloads: activityWorkloads },
  http: { name: "http", workloads: [httpLoad] },
  growth: { name: "growth", workloads: [growthBySteps, growthByRows, growthBySleeping, growthByResident] },
} as const satisfies Readonly<Record<string, Section>>

export const workloads = Object.values(sections).flatMap((section) => section.workloads)
