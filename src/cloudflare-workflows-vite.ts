import { fileURLToPath } from "node:url"
import { cloudflareModuleUrl } from "./dialects/cloudflare-workflows/modules/cloudflare-modules.ts"

/** What Vite wants of a plugin, as far as this one goes. */
export interface CloudflareModulesPlugin {
  /** The name of the plugin. */
  readonly name: string
  /** It resolves before Vite's own plugins. */
  readonly enforce: "pre"
  /** Undefined: another plugin resolves the module. */
  resolveId(specifier: string): string | undefined
}

/**
 * A plugin for Vite and Vitest: lets tests import programs that import `cloudflare:workers` and `cloudflare:workflows`.
 *
 * @example
 * export default { plugins: [cloudflareModules()] }
 */
export function cloudflareModules(): CloudflareModulesPlugin {
  return {
    name: "perdure:cloudflare-modules",
    enforce: "pre",
    resolveId(specifier) {
      const url = cloudflareModuleUrl(specifier)
      return url === undefined ? undefined : fileURLToPath(url)
    },
  }
}
