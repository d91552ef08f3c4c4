import { fileURLToPath } from "node:url"
import { cloudflareTest } from "@cloudflare/vitest-plugin"
import { defineConfig, type Plugin } from "vitest/config"

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const source = (name: string) => here(`../../src/${name}.ts`)

/** The suites that every store and host runs lie outside of this folder, where `vitest` is another version. */
const suitesInObjects: Plugin = {
  name: "suites-in-objects",
  enforce: "pre",
  resolveId: (specifier, importer) => (specifier === "vitest" && importer?.startsWith(here("../../src/")) ? here("./vitest-in-object.ts") : undefined),
}

const long = process.env["LONG"] === "1"

export default defineConfig({
  plugins: [
    suitesInObjects,
    cloudflareTest({
      main: "./worker.ts",
      miniflare: {
        compatibilityDate: "2026-09-01",
        compatibilityFlags: ["nodejs_compat"],
        durableObjects: {
          ACTIVITIES_RUNNER: { className: "ActivitiesRunner", useSQLite: true },
          BARE: { className: "BareObject", useSQLite: true },
          APART: { className: "ApartRunner", useSQLite: true },
          DIALECT_RUNNER: { className: "DialectRunner", useSQLite: true },
          FAULTY: { className: "FaultyRunner", useSQLite: true },
          BED: { className: "BedRunner", useSQLite: true },
          WORKFLOW_RUNNER: { className: "WorkflowRunner", useSQLite: true },
          FLOW_RUNNER: { className: "FlowRunner", useSQLite: true },
          SHARD_RUNNER: { className: "ShardRunner", useSQLite: true },
          TROUBLE_RUNNER: { className: "TroubleRunner", useSQLite: true },
        },
      },
    }),
  ],
  resolve: {
    alias: [
      { find: /^perdure$/, replacement: source("index") },
      { find: /^perdure\/(\w+)$/, replacement: here("../../src/$1.ts") },
    ],
  },
  test: {
    include: ["**/*.test.ts"],
    exclude: ["**/node_modules/**", ...(long ? [] : ["long/**"])],
    testTimeout: 120_000,
    // Each file has a workerd of its own, and waits for much of its time, so two files run at a time even on two cores.
    maxWorkers: 2,
  },
})
