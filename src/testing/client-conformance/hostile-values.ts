/** Values that untyped callers pass by mistake. Some of these objects throw when they are read. */

/** The error that the caller's objects throw when they are read. A caller must get an error of Perdure in place of it. */
class Trap extends Error {}
const spring = () => {
  throw new Trap("the caller's own code ran")
}
const traps: ProxyHandler<object> = {
  get: spring,
  has: spring,
  ownKeys: spring,
  getPrototypeOf: spring,
  getOwnPropertyDescriptor: spring,
}
function revoked(): object {
  const { proxy, revoke } = Proxy.revocable([], {})
  revoke()
  return proxy
}

/** Values of every type, one of each kind; some of them throw when they are read. */
export const values = {
  null: null,
  number: 7,
  nan: Number.NaN,
  boolean: true,
  bigint: 1n,
  symbol: Symbol("s"),
  text: "nonsense",
  list: ["a"],
  object: { toString: () => "status" },
  function: () => "status",
  hostile: { toString: spring, valueOf: spring, toJSON: spring, [Symbol.toPrimitive]: spring, [Symbol.iterator]: spring },
  proxy: new Proxy({}, traps),
  revoked: revoked(),
} as const
type Kind = keyof typeof values

export function allBut(...kinds: readonly Kind[]): readonly unknown[] {
  return (Object.keys(values) as Kind[]).filter((kind) => !kinds.includes(kind)).map((kind) => values[kind])
}

export const noText = allBut("text")
export const noName = [...noText, undefined, ""]
export const noFlag = allBut("boolean")
export const noWord = [...allBut(), "", "Error", "newest\0", ["newest"]]
export const noObject = allBut("object", "hostile")
export const noList = allBut("list")
export const noNumber = [...allBut("number"), "7", {}]
export const noCount = [...noNumber, 0, -1, 1.5, Infinity, "5", [5]]
export const noDuration = [...allBut("number"), -1, "1 parsec", "", Infinity, {}, [5], new Date(0)]
export const noTime = [...allBut("number"), "abc", "", Infinity, {}, ["2020-01-01"], [2020], new Date(Number.NaN)]
export const noTags = [...noList, "x", new Set(["a"])]
export const tagsOfNoTag = [[5], [null], [["a"]], [""], [{ toString: spring }]]
export const noDefinition = allBut("text")
