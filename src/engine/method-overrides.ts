/** A port with some of its methods replaced. All other calls go to the port itself. */
export function overriding<T extends object>(port: T, methods: Partial<T>): T {
  return new Proxy(port, {
    get: (target, name) => {
      if (Object.hasOwn(methods, name)) return methods[name as keyof T]
      const method: unknown = Reflect.get(target, name)
      return typeof method === "function" ? (...args: unknown[]) => Reflect.apply(method, target, args) as unknown : method
    },
  })
}
