// `node --import perdure/cloudflare-workflows/register app.ts`: lets a program import `cloudflare:workers` and `cloudflare:workflows` under Node.

import { register } from "node:module"
import { cloudflareModuleUrl } from "./dialects/cloudflare-workflows/modules/cloudflare-modules.ts"
import { registerSyncHooks } from "./dialects/cloudflare-workflows/modules/module-hooks.ts"

// Node before 22.15 has only hooks that run in a thread of their own.
if (!registerSyncHooks(cloudflareModuleUrl)) register(new URL(`data:text/javascript,${encodeURIComponent(hookSource())}`))

function hookSource(): string {
  const urls = Object.fromEntries(["cloudflare:workers", "cloudflare:workflows"].map((specifier) => [specifier, cloudflareModuleUrl(specifier)]))
  return `const urls = ${JSON.stringify(urls)}
export const resolve = (specifier, context, next) => urls[specifier] ? { url: urls[specifier], shortCircuit: true } : next(specifier, context)`
}
