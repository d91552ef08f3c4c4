import { describe, expect, it } from "vitest"
import type { Scope } from "../../ports/host.ts"
import { type CurrentHost, quiet } from "./host-bed.ts"

const engine = {}
const scopeOf = (instance: string): Scope => ({ engine, instance })

export function scopeCases(bed: CurrentHost): void {
  describe("scopes", () => {
    it("code outside all scopes has none; code inside a scope sees it, and its answer is returned", () => {
      const { host } = bed()
      const scope = scopeOf("i")
      expect(host.currentScope()).toBeUndefined()
      expect(host.runIn(scope, (given) => [given, host.currentScope()])).toEqual([scope, scope])
      expect(host.currentScope()).toBeUndefined()
    })

    it("an error inside a scope is rethrown, and the scope ends", () => {
      const { host } = bed()
      const fail = () =>
        host.runIn(scopeOf("i"), () => {
          throw new Error("no")
        })
      expect(fail).toThrow("no")
      expect(host.currentScope()).toBeUndefined()
    })

    it("a scope follows its code through awaits, and those of others do not get mixed up with it", async () => {
      const { host } = bed()
      const seen: string[] = []
      const code = async (scope: Scope) => {
        for (let i = 0; i < 3; i++) {
          seen.push(`${scope.instance} ${host.currentScope()?.instance}`)
          await (i === 1 ? quiet(host) : Promise.resolve())
        }
        return host.currentScope()
      }
      const scopes = ["a", "b", "c"].map(scopeOf)
      expect(await Promise.all(scopes.map((scope) => host.runIn(scope, code)))).toEqual(scopes)
      expect(new Set(seen)).toEqual(new Set(["a a", "b b", "c c"]))
      expect(host.currentScope()).toBeUndefined()
    })

    it("steps one after another and at the same time each see their own scope, also in code that outlives its step", async () => {
      const { host } = bed()
      const macrotask = () => new Promise<void>((resolve) => host.quiesce(resolve))
      const stepOf = (step: string): Scope => ({ ...scopeOf("i"), step })
      const leftBehind: Promise<(Scope | undefined)[]>[] = []
      const run = async (scope: Scope) => {
        const seen = [host.currentScope()]
        await macrotask()
        seen.push(host.currentScope())
        expect(host.runIn(scope, () => host.currentScope())).toBe(scope)
        leftBehind.push(
          (async () => {
            for (let n = 0; n < 3; n++) await macrotask()
            return [host.currentScope(), scope]
          })(),
        )
        return seen
      }
      const attempt = async (step: string) => {
        const scope = stepOf(step)
        const seen = await host.runIn(scope, run)
        expect(host.currentScope()).toBeUndefined()
        expect(seen).toEqual([scope, scope])
      }
      for (const step of ["a", "b", "c"]) await attempt(step)
      await Promise.all(["d", "e", "f"].map(attempt))
      await attempt("g")
      for (const [seen, own] of await Promise.all(leftBehind)) expect(seen).toBe(own)
      expect(host.runIn(scopeOf("j"), () => host.currentScope())).toEqual(scopeOf("j"))
    })

    it("a scope inside another hides it, until it is left", async () => {
      const { host } = bed()
      const [outer, inner] = [scopeOf("i"), { ...scopeOf("i"), step: "s" }]
      const seen = await host.runIn(outer, async () => {
        const inside = await host.runIn(inner, async () => {
          await Promise.resolve()
          return host.currentScope()
        })
        return [inside, host.currentScope()]
      })
      expect(seen).toEqual([inner, outer])
    })
  })
}
