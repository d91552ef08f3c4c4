import { CommandError, exitCodes } from "../exit-code.ts"
import { importOf } from "./project-packages.ts"
import type { WorkerSettings } from "./worker-settings.ts"

/** The part of esbuild that bundles. */
interface Bundler {
  build(options: Readonly<Record<string, unknown>>): Promise<{ readonly outputFiles: readonly { readonly text: string }[] }>
}

/** The Worker as one module for workerd. Undefined: the project does not have esbuild. */
export async function bundleForWorkerd({ file, main }: WorkerSettings): Promise<string | undefined> {
  const esbuild = await importOf<Bundler>(file.folder, "esbuild")
  if (esbuild === undefined) return undefined
  try {
    const { outputFiles } = await esbuild.build({
      entryPoints: [main],
      absWorkingDir: file.folder,
      bundle: true,
      write: false,
      format: "esm",
      target: "es2024",
      platform: "neutral",
      mainFields: ["workerd", "worker", "browser", "module", "main"],
      conditions: ["workerd", "worker", "browser"],
      external: ["cloudflare:*", "node:*"],
      loader: { ".txt": "text", ".html": "text", ".sql": "text" },
      keepNames: true,
      logLevel: "silent",
    })
    return outputFiles[0]?.text ?? ""
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error)
    throw new CommandError("NOT_BUNDLED", exitCodes.usage, `${file.shown} has Durable Objects, and esbuild cannot bundle the Worker for them: ${text}`, {
      cause: error,
    })
  }
}
