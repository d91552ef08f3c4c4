import { describe, expect, it } from "vitest"
import type { Scope } from "../../ports/host.ts"
import { type CurrentHost, quiet } from "./host-bed.ts"

export function rejectionCases(bed: CurrentHost): void {
  describe("rejections that nobody handles", () => {
    it("are reported with the scope of their code until the listener is removed", async () => {
      const { host } = bed()
      const scope: Scope = { engine: {}, instance: "i", step: "s" }
      const told: unknown[] = []
      const forget = (reason: string) =>
        host.runIn(scope, () => {
          void (async () => {
            await Promise.resolve()
            throw new Error(reason)
          })()
        })
      const stop = host.onUnhandledRejection((where, reason) => told.push([where, reason]))
      forget("first")
      for (let i = 0; i < 3; i++) await quiet(host)
      stop()
      forget("second")
      for (let i = 0; i < 3; i++) await quiet(host)
      expect(told).toEqual([[scope, new Error("first")]])
    })
  })
}
