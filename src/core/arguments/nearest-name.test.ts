import { expect, it } from "vitest"
import { nearestName } from "./nearest-name.ts"

const names = ["approval", "payment", "go", "word"]

it.each([
  ["aproval", "approval"],
  ["Approval", "approval"],
  ["approvals", "approval"],
  ["paymnet", "payment"],
  ["g", "go"],
  ["paymetn", "payment"],
  ["wrod", "word"],
  ["aprovl", "approval"],
])("%s is near %s", (given, name) => expect(nearestName(given, names)).toBe(name))

it.each(["refund", "", "approve-the-whole-order", "xyz"])("nothing is near %j", (given) => expect(nearestName(given, names)).toBeUndefined())

it("of two that are near, the nearer one is meant", () => expect(nearestName("paid2", ["paid1", "paid", "paid2x"])).toBe("paid1"))

it("letters that were swapped with their neighbours count once", () => expect(nearestName("oredr", ["refund", "order"])).toBe("order"))
