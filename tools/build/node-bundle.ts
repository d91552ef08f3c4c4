// Puts what Node loads into a few files, dist/node: some hundred modules take it three times as long to load. Other platforms have bundlers
// of their own, which leave out more of the modules as they are.

import { basename } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import manifest from "../../package.json" with { type: "json" }

const source = (name: string) => fileURLToPath(new URL(`../../src/${name}.ts`, import.meta.url))
const entries = Object.values(manifest.exports).flatMap((entry) => (typeof entry === "string" ? [] : [basename(entry.node, ".js")]))

await build({
  // All in one folder, whatever each is in the source: some look for others beside them.
  entryPoints: { ...Object.fromEntries(entries.map((name) => [name, source(name)])), main: source("cli/main"), "dev-child": source("cli/dev/dev-child") },
  outdir: fileURLToPath(new URL("../../dist/node", import.meta.url)),
  chunkNames: "shared-[hash]",
  bundle: true,
  // What several entries need is there once: a class is the same for all of them.
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20",
  packages: "external",
  external: ["cloudflare:workers"],
  legalComments: "none",
  sourcemap: true,
  // The maps of the modules have it.
  sourcesContent: false,
  logLevel: "warning",
})
