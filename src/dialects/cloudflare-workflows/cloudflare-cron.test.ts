import { expect, it } from "vitest"
import { nextWallTime, parseCron } from "../../core/time/cron.ts"
import { nativeCron } from "./cloudflare-cron.ts"

it.each([
  ["0 17 * * 1", "0 17 * * sun"],
  ["10 7 * * 2-6", "10 7 * * mon-fri"],
  ["0 18 * * 6L", "0 18 * * friL"],
  ["0 10 * * 2#3", "0 10 * * MON#3"],
  ["0 0 * * 1,7", "0 0 * * SUN,SAT"],
  ["0 0 * * 2-6/2", "0 0 * * MON,WED,FRI"],
  ["0 0 * * */2", "0 0 * * SUN,TUE,THU,SAT"],
  ["*/30 * 1 1 *", "*/30 * 1 1 *"],
  ["59 23 LW * *", "59 23 LW * *"],
])("the days of %s are those of %s", (cron, named) => {
  const times = (expression: string) => {
    const found: number[] = []
    for (let at = Date.UTC(2026, 0); found.length < 40;) {
      const next = nextWallTime(parseCron(expression), at) ?? Infinity
      found.push(next)
      at = next + 1
    }
    return found
  }
  expect(times(nativeCron(cron))).toEqual(times(named))
})
