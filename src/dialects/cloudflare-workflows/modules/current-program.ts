import { PerdureError } from "../../../core/errors.ts"

/**
 * What `env` and `exports` of `cloudflare:workers` are outside of Cloudflare: those of the program that `openWorkflows` opened last. Each access asks
 * anew, so a module may import them before the program is opened.
 */
interface CurrentProgram {
  readonly env: object
  readonly exports: object
}

let current: CurrentProgram | undefined

export function setCurrentProgram(program: CurrentProgram): void {
  current = program
}

/** An object that stands for the `env` or the `exports` of the current program. */
export function liveObject(part: keyof CurrentProgram): Record<string, unknown> {
  const target = () => {
    if (current) return current[part]
    throw new PerdureError("BAD_OPTION", `${part} of "cloudflare:workers" is there once openWorkflows is called; do not read it while modules are loaded`)
  }
  return new Proxy<Record<string, unknown>>(
    {},
    {
      get: (_, key) => Reflect.get(target(), key) as unknown,
      has: (_, key) => Reflect.has(target(), key),
      ownKeys: () => Reflect.ownKeys(target()),
      getOwnPropertyDescriptor: (_, key) => {
        const descriptor = Reflect.getOwnPropertyDescriptor(target(), key)
        // A proxy may only speak of properties that its own target lacks as configurable.
        return descriptor && { ...descriptor, configurable: true }
      },
    },
  )
}
