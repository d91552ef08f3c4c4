// What a Worker weighs, as wrangler bundles and minifies it, compressed as it is uploaded. The goals are 66 KB for the runner and 120 KB with the
// HTTP API; a runner without parts, and with the one that the HTTP API shows instances with. Nothing may get heavier unnoticed: the bounds are what was measured, and a hundredth more, but no more than the goals.

import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"
import { expect, it } from "vitest"
import { dryRun } from "./example-worker.ts"

const goals = { "runner-only": 66_000, "with-http": 120_000, "with-all-parts": undefined }
const bounds = { "runner-only": 66_000, "with-http": 101_000, "with-all-parts": 117_400 }

it.each(["runner-only", "with-http", "with-all-parts"] as const)(
  "a Worker %s stays within its bound, and needs nothing of Node but what nodejs_compat gives",
  async (name) => {
    const { script } = await dryRun(fileURLToPath(new URL(`sized/${name}.ts`, import.meta.url)))
    const goal = goals[name]
    const bytes = gzipSync(script, { level: 9 }).length
    console.log(`${name}: ${(bytes / 1000).toFixed(1)} KB minified and compressed${goal === undefined ? "" : `; the goal is ${goal / 1000} KB`}`)
    expect(bytes).toBeLessThanOrEqual(bounds[name])
    const imported = new Set(Array.from(script.matchAll(/(?:from|import)\s*\(?\s*"([\w:@/.-]+)"/g), ([, specifier]) => specifier))
    expect(imported).toEqual(new Set(["cloudflare:workers", "node:async_hooks", "node:crypto"]))
  },
)
