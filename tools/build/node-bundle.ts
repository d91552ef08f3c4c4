// Bundles what Node loads into a few files: Node needs three times as long to load some hundred modules. Users of other platforms have bundlers of their own,
// which leave out more of the single modules.

import { basename } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import manifest from "../../package.json" with { type: "json" }

const source = (name: string) => fileURLToPath(new URL(`../../src/${name}.ts`, import.meta.url))
const entries = Object.values(manifest.exports).flatMap((entry) => (typeof entry === "string" ? [] : [basename(entry.node, ".js")]))

/** Without source maps where nobody reads them. */
export async function bundleForNode(folder: string, { sourcemap = true } = {}): Promise<void> {
  await build({
    // All entries lie in one folder, wherever they are in the sources: some look for others beside them.
    entryPoints: { ...Object.fromEntries(entries.map((name) => [name, source(name)])), main: source("cli/main"), "dev-child": source("cli/dev/dev-child") },
    outdir: folder,
    chunkNames: "shared-[hash]",
    bundle: true,
    // Code that several entries need is there once, so that a class is the same class for all of them.
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    packages: "external",
    external: ["cloudflare:workers"],
    legalComments: "none",
    sourcemap,
    // The maps of the single modules contain the sources.
    sourcesContent: false,
    logLevel: "warning",
  })
}

if (import.meta.main) await bundleForNode(fileURLToPath(new URL("../../dist/node", import.meta.url)))
