import { expect, it } from "vitest"
import { shortCommand } from "./lock-holder.ts"

it.each([
  [["/usr/bin/node", "--enable-source-maps", "/srv/app/main.ts", "--port", "80", ""], "node main.ts --port 80"],
  [["/usr/bin/node", "/app/node_modules/perdure/dist/node/dev-child.js", '{"entry":"/app/workflows.ts"}'], "perdure dev"],
  [["node (vitest)"], "node (vitest)"],
  [["/usr/bin/node", "/srv/main.js", "x".repeat(100)], `node main.js ${"x".repeat(46)}…`],
])("a process is named in a few words: %j", (words, text) => {
  expect(shortCommand(words)).toBe(text)
})
