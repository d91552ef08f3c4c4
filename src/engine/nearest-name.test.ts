import { expect, it } from "vitest"
import { nearestName } from "./nearest-name.ts"

it.each([
  ["ordr", ["order", "refund"], "order"],
  ["oredr", ["order", "refund"], "order"],
  ["Order", ["order", "orders"], "order"],
  ["refnds", ["order", "refund"], "refund"],
  ["invoice", ["order", "refund"], undefined],
  ["x", ["order"], undefined],
  ["order", [], undefined],
])("of %s among %j it is %s", (name, names, nearest) => {
  expect(nearestName(name, names)).toBe(nearest)
})
