import { afterEach, beforeEach, describe } from "vitest"
import type { Logger } from "../../ports/host.ts"
import { type HostBed } from "./host-bed.ts"
import { lifeCases } from "./life-cases.ts"
import { rejectionCases } from "./rejection-cases.ts"
import { scopeCases } from "./scope-cases.ts"
import { timeCases } from "./time-cases.ts"

export interface HostDeviation {
  /** Why the host cannot do it, or why it cannot be tested here. */
  readonly reason: string
  readonly without: "unhandled rejections"
}

/** What every host must do. Free of Node imports, so that it runs on every host. */
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

/** What a user passes in may fail, and that must not be felt. */
const failing: Logger = { debug: fail, info: fail, warn: fail, error: fail }
