/** A binding of wrangler.jsonc that does not exist here was used. */
class MissingBindingError extends Error {
  override readonly name = "MissingBindingError"
  readonly code = "NO_BINDING"
  readonly binding: string

  constructor(binding: string, message: string) {
    super(`NO_BINDING: ${message}`)
    this.binding = binding
  }
}

/** Names that are read of every value, by an `await` or by `JSON.stringify`. To read them is no use of a binding. */
const harmless = new Set<unknown>(["then", "toJSON", "constructor"])

/** Stands for a binding that does not exist here. To pass it on is harmless; its first use throws an error that names it. */
export function missingBinding(binding: string, message: string): unknown {
  const refuse = () => {
    throw new MissingBindingError(binding, message)
  }
  const get = (_: unknown, key: unknown) => (typeof key === "symbol" || harmless.has(key) ? undefined : refuse())
  return new Proxy(() => undefined, { get, has: refuse, apply: refuse, set: refuse })
}

/** Stands for a binding that exists as soon as the program has been opened. Until then its use throws. */
export function laterBinding(binding: string, find: () => object | undefined): unknown {
  const missing = missingBinding(binding, `env.${binding} can be used as soon as the Worker runs, and not while its modules are loaded`) as object
  return new Proxy(
    {},
    {
      get(_, key) {
        const target = find() ?? missing
        const value = Reflect.get(target, key) as unknown
        return typeof value === "function" ? (value.bind(target) as unknown) : value
      },
    },
  )
}
