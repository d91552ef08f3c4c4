import * as nodeModule from "node:module"

interface SyncHooks {
  resolve(specifier: string, context: unknown, next: (specifier: string, context: unknown) => unknown): unknown
}

/** False: this version of Node has no synchronous hooks. */
export function registerSyncHooks(urlOf: (specifier: string) => string | undefined): boolean {
  const { registerHooks } = nodeModule as unknown as { readonly registerHooks?: (hooks: SyncHooks) => void }
  if (registerHooks === undefined) return false
  registerHooks({
    resolve(specifier, context, next) {
      const url = urlOf(specifier)
      return url === undefined ? next(specifier, context) : { url, shortCircuit: true }
    },
  })
  return true
}
