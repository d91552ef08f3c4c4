import { afterEach, beforeEach, describe } from "vitest"
import type { Logger } from "../../ports/host.ts"
import { type HostBed } from "./host-bed.ts"
import { lifeCases } from "./life-cases.ts"
import { rejectionCases } from "./rejection-cases.ts"
import { scopeCases } from "./scope-cases.ts"
import { timeCases } from "./time-cases.ts"

export interface HostDeviation {
  /** The reason why the host lacks a feature, or why a case cannot run here. */
  readonly reason: string
  readonly without: "unhandled rejections"
}

/** The conformance suite of hosts. It imports nothing of Node, so that it runs on every host. */
export function describeHost(name: string, provide: (log: Logger) => HostBed | Promise<HostBed>, deviations: readonly HostDeviation[] = []): void {
  describe(`${name} as a host`, () => {
    let current: HostBed | undefined
    const bed = () => {
      if (current === undefined) throw new Error("there is a host only while a test runs")
      return current
    }
    beforeEach(async () => {
      current = await provide(failing)
    })
    afterEach(() => {
      current = undefined
    })

    lifeCases(bed)
    timeCases(bed)
    scopeCases(bed)
    if (!deviations.some(({ without }) => without === "unhandled rejections")) rejectionCases(bed)
  })
}

const fail = () => {
  throw new Error("the user's logger is broken")
}

/** Errors of what a user passes in, such as a logger, must not reach the engine. */
const failing: Logger = { debug: fail, info: fail, warn: fail, error: fail }
