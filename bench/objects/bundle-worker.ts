import { fileURLToPath } from "node:url"
import { build, type Rollup } from "vite"

/** The folder of the sources, also for compiled code, because the sources are bundled. */
const here = new URL(import.meta.url.includes("/.build/") ? "../../objects/" : "./", import.meta.url)
const source = (path: string) => fileURLToPath(new URL(path, here))

/** The code of a Worker as one module. `entry` is relative to this folder. */
export async function bundleWorker(entry: string): Promise<string> {
  const result = (await build({
    configFile: false,
    logLevel: "silent",
    resolve: {
      alias: [
        { find: /^perdure$/, replacement: source("../../src/index.ts") },
        { find: /^perdure\/cloudflare$/, replacement: source("../../src/cloudflare.ts") },
      ],
    },
    build: {
      write: false,
      target: "es2022",
      lib: { entry: source(entry), formats: ["es"], fileName: "worker" },
      rollupOptions: { external: [/^cloudflare:/, /^node:/], output: { codeSplitting: false } },
    },
  })) as Rollup.RollupOutput[]
  const [chunk] = result[0]!.output
  return chunk.code
}
