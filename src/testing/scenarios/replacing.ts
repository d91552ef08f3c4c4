/** The object with some of its members replaced; the others are called on the object itself. */
export function replacing<T extends object>(object: T, members: Partial<T>): T {
  return new Proxy(object, {
    get: (target, name) => {
      if (name in members) return members[name as keyof T]
      const value: unknown = Reflect.get(target, name)
      return typeof value === "function" ? (...args: unknown[]): unknown => Reflect.apply(value, target, args) : value
    },
  })
}
