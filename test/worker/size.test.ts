// The size of a Worker as wrangler bundles and minifies it, compressed as it is uploaded. A Worker may have megabytes; the bounds keep the runner, and
// the runner with the HTTP API, from growing unnoticed. What a Worker does not import must not be in its bundle.

import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"
import { expect, it } from "vitest"
import { dryRun } from "./example-worker.ts"

const bounds = { "runner-only": 130_000, "with-http": 170_000 }

it.each(["runner-only", "with-http"] as const)("a Worker %s stays within its bound, and needs nothing of Node but what nodejs_compat gives", async (name) => {
  const { script } = await dryRun(fileURLToPath(new URL(`sized/${name}.ts`, import.meta.url)))
  const bytes = gzipSync(script, { level: 9 }).length
  console.log(`${name}: ${(bytes / 1000).toFixed(1)} KB minified and compressed; the bound is ${bounds[name] / 1000} KB`)
  expect(bytes).toBeLessThanOrEqual(bounds[name])
  const imported = new Set(Array.from(script.matchAll(/(?:from|import)\s*\(?\s*"([\w:@/.-]+)"/g), ([, specifier]) => specifier))
  expect(imported).toEqual(new Set(["cloudflare:workers", "node:async_hooks", "node:crypto"]))
  // The bundle must contain the title of the OpenAPI document only with the HTTP API, and never the stores of other hosts.
  expect(script.includes("openapi")).toBe(name === "with-http")
  for (const elsewhere of ["node:sqlite", "pg_snapshot", "DatabaseSync"]) expect(script).not.toContain(elsewhere)
})
