import { expect, it } from "vitest"
import { StepFailedError } from "../../core/errors.ts"
import { lineLogger } from "./line-logger.ts"
import { styleOf } from "./style.ts"

it("says below a failure where the user's code threw, in colour, and the same frames only once", () => {
  let text = ""
  const log = lineLogger({ io: { stderr: { write: (part) => (text += part) } }, errorStyle: styleOf(true) })
  const inner = Object.assign(new Error("hang up"), { stack: "Error: hang up\n    at send (file:///app/net.ts:7:1)" })
  const error = Object.assign(new TypeError("card declined", { cause: inner }), {
    stack: "TypeError: card declined\n    at charge (file:///app/pay.ts:4:9)\n    at run (file:///app/node_modules/perdure/dist/node/a.js:1:1)",
  })
  log.info("attempt 1 failed: card declined", { error })
  log.warn("the step failed: card declined", { error })
  log.warn("the instance failed", { error: new StepFailedError("charge", 2, error) })
  log.error("a hook failed", { error: new Error("no \u001b[2J") })
  const [info, warning, first, cause, second, instance, hook] = text.split("\n")
  expect(info).toBe("\u001b[2minfo\u001b[22m attempt 1 failed: card declined")
  expect(warning).toBe("\u001b[33mwarning\u001b[39m the step failed: card declined")
  expect([first, cause, second].join()).toMatch(
    / {4}at charge \(file:\/\/\/app\/pay\.ts:4:9\), {2}caused by Error: hang up, {4}at send \(file:\/\/\/app\/net\.ts:7:1\)/,
  )
  expect(instance).toContain('the instance failed: step "charge" failed after 2 attempts: card declined')
  expect(hook).toContain("a hook failed: no \\u001b[2J")
})
