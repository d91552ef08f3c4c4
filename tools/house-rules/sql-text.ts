/**
 * Finds SQL that contains an unchecked value. A template literal, or texts joined with `+`, counts as SQL if its own text has words of SQL.
 * Every inserted value must be text of the sources: a literal, a constant made of such text, the result of a function of ours if it is such text, a
 * parameter if every call in the sources passes such text, a number of `Number` or `Math`, or the result of a checking function.
 */

import { type Node, placeOf, type SourceFile, walk } from "./source-file.ts"

/**
 * Each returns text that it has looked up in a closed list, made of placeholders alone, or checked and quoted. `wholeStatement` takes a statement
 * that is complete, and was found where it was built.
 */
const checkingFunctions: ReadonlySet<string> = new Set([
  "columnOf",
  "comparisonOf",
  "defineFunction",
  "directionOf",
  "functionName",
  "placeholders",
  "quotedSchema",
  "wholeStatement",
])

/** Binds a value, and returns the placeholder. */
const bindingMethods: ReadonlySet<string> = new Set(["bind"])

/**
 * The name of the schema of the PostgreSQL store, which `quotedSchema` makes: a property of the database, and parameters that pass it on.
 * The names of the store's functions, which `defineFunction` makes, are properties of `functions`.
 */
const checkedProperties = /(^|[.#])(database\.schema|functions(\.\w+|\[\w+\]))$/
const schemaNames: ReadonlySet<string> = new Set(["s", "schema"])
const schemaFolder = "src/stores/postgres/"

const words =
  /\b(SELECT|INSERT INTO|UPDATE|DELETE FROM|(?:CREATE|DROP|ALTER) [A-Z]+|TRUNCATE|WHERE|FROM|JOIN|VALUES|ORDER BY|GROUP BY|LIMIT|UNION|RETURNING|PRAGMA|SAVEPOINT|ROLLBACK|RELEASE|VACUUM|ATTACH|NOTIFY|LISTEN|UNLISTEN|EXECUTE|GRANT|SET|LOCK)\b/

/** Methods whose result is checked text if their arguments are checked text. */
const textMethods: ReadonlySet<string> = new Set([
  "concat",
  "filter",
  "flat",
  "join",
  "repeat",
  "replace",
  "replaceAll",
  "slice",
  "toReversed",
  "toSorted",
  "trim",
])
const mappingMethods: ReadonlySet<string> = new Set(["map", "flatMap"])

/** Returns each place of unchecked SQL as a line. */
export function uncheckedSql(files: readonly SourceFile[]): readonly string[] {
  const sources = new Sources(files)
  const findings = files.flatMap((file) =>
    file.body
      .flatMap((statement) => [...walk(statement)])
      .filter((node) => isSql(node))
      .flatMap((node) => operands(node).filter((operand) => !sources.isChecked(operand)))
      .map((operand) => `${placeOf(file, operand)}  ${sources.textOf(operand)}`),
  )
  return [...new Set(findings)]
}

function isSql(node: Node): boolean {
  if (node.type === "TemplateLiteral") return words.test((node["quasis"] as readonly Node[]).map((part) => (part["value"] as { raw: string }).raw).join("X"))
  if (node.type !== "BinaryExpression" || node["operator"] !== "+") return false
  return operands(node).some((operand) => operand.type === "Literal" && typeof operand["value"] === "string" && words.test(operand["value"]))
}

function operands(node: Node): readonly Node[] {
  if (node.type === "TemplateLiteral") return node["expressions"] as readonly Node[]
  if (node.type === "BinaryExpression") return [node["left"] as Node, node["right"] as Node].flatMap((side) => (isSum(side) ? operands(side) : [side]))
  return []
}

const isSum = (node: Node) => node.type === "BinaryExpression" && node["operator"] === "+"

const isFunction = (node: Node | undefined): node is Node =>
  node?.type === "ArrowFunctionExpression" || node?.type === "FunctionExpression" || node?.type === "FunctionDeclaration"

const nameOf = (node: unknown): string => (node as { name?: string } | null | undefined)?.name ?? ""

/** The meaning of a name. */
type Binding =
  | { readonly kind: "value"; readonly node: Node }
  | { readonly kind: "element"; readonly of: Node }
  | { readonly kind: "member"; readonly of: Node; readonly property: string }
  | { readonly kind: "parameter"; readonly of: Node; readonly name: string; readonly index: number; readonly fallback: Node | undefined }
  | { readonly kind: "unknown" }

class Sources {
  readonly #files = new Map<string, SourceFile>()
  readonly #fileOf = new Map<Node, SourceFile>()
  readonly #parentOf = new Map<Node, Node>()
  /** Nodes by the name that they call or write to. */
  readonly #calls = new Map<string, Node[]>()
  readonly #writes = new Map<string, Node[]>()
  /** The nodes under examination. A text that refers to itself is as good as its other parts. */
  readonly #open = new Set<Node>()
  readonly #known = new Map<Node, boolean>()

  constructor(files: readonly SourceFile[]) {
    for (const file of files) {
      this.#files.set(file.path, file)
      for (const statement of file.body) this.#enter(file, statement, undefined)
    }
  }

  #enter(file: SourceFile, node: Node, parent: Node | undefined): void {
    this.#fileOf.set(node, file)
    if (parent) this.#parentOf.set(node, parent)
    if (node.type === "CallExpression" || node.type === "NewExpression") add(this.#calls, calledName(node["callee"] as Node), node)
    for (const [name, value] of writesOf(node)) add(this.#writes, `${file.path} ${name}`, value)
    for (const value of Object.values(node))
      for (const child of (Array.isArray(value) ? value : [value]) as readonly unknown[])
        if (typeof child === "object" && child !== null && typeof (child as Node).type === "string") this.#enter(file, child as Node, node)
  }

  textOf(node: Node): string {
    return (this.#fileOf.get(node)?.text.slice(node.start, node["end"] as number) ?? "").split("\n")[0] ?? ""
  }

  /** True for text that no caller from outside can choose. */
  isChecked(node: Node): boolean {
    const known = this.#known.get(node)
    if (known !== undefined) return known
    if (this.#open.has(node)) return true
    this.#open.add(node)
    const answer = this.#judge(node)
    this.#open.delete(node)
    // While another node is under examination, the result may depend on it, and is not kept.
    if (this.#open.size === 0) this.#known.set(node, answer)
    return answer
  }

  #all(nodes: readonly (Node | null | undefined)[]): boolean {
    return nodes.every((node) => !node || this.isChecked(node))
  }

  #judge(node: Node): boolean {
    switch (node.type) {
      case "Literal":
        return true
      case "TemplateLiteral":
      case "BinaryExpression":
        return this.#all(operands(node))
      case "ConditionalExpression":
        return this.#all([node["consequent"] as Node, node["alternate"] as Node])
      case "LogicalExpression":
        return this.#all([node["left"] as Node, node["right"] as Node])
      case "TSAsExpression":
      case "TSSatisfiesExpression":
      case "TSNonNullExpression":
      case "ParenthesizedExpression":
      case "ChainExpression":
        return this.isChecked(node["expression"] as Node)
      case "SpreadElement":
      case "UnaryExpression":
        return this.isChecked(node["argument"] as Node)
      case "ArrayExpression":
        return this.#all(node["elements"] as readonly Node[])
      case "ObjectExpression":
        return this.#all((node["properties"] as readonly Node[]).map((property) => (property["value"] ?? property["argument"]) as Node))
      case "ArrowFunctionExpression":
      case "FunctionExpression":
      case "FunctionDeclaration":
        return this.#returns(node)
      case "Identifier":
        return nameOf(node) === "undefined" || this.#isCheckedBinding(this.#resolve(node, nameOf(node)))
      case "MemberExpression":
        return this.#isCheckedMember(node)
      case "CallExpression":
        return this.#isCheckedCall(node)
      default:
        return false
    }
  }

  #returns(fn: Node): boolean {
    const body = fn["body"] as Node
    if (body.type !== "BlockStatement") return this.isChecked(body)
    const returned = [...walkOwn(body)].filter(({ type }) => type === "ReturnStatement").map((statement) => statement["argument"] as Node | null)
    return returned.length > 0 && this.#all(returned)
  }

  #isCheckedCall(call: Node): boolean {
    const callee = call["callee"] as Node
    const given = call["arguments"] as readonly Node[]
    if (callee.type === "Identifier") {
      if (checkingFunctions.has(nameOf(callee)) || nameOf(callee) === "Number") return true
      const binding = this.#resolve(callee, nameOf(callee))
      if (binding.kind === "member") return this.#isCheckedProperty(binding.of, binding.property)
      return binding.kind === "value" && isFunction(binding.node) && this.#returns(binding.node)
    }
    if (callee.type !== "MemberExpression") return false
    const object = callee["object"] as Node
    const method = nameOf(callee["property"])
    if (nameOf(object) === "Math" || bindingMethods.has(method)) return true
    if (nameOf(object) === "Object" && ["keys", "values", "entries"].includes(method)) return this.#all(given)
    // For a mapping, only the result of its function matters: see `element`.
    if (mappingMethods.has(method) || (nameOf(object) === "Array" && method === "from")) return isFunction(given.at(-1)) && this.isChecked(given.at(-1) as Node)
    return textMethods.has(method) && this.isChecked(object) && this.#all(given.filter((one) => !isFunction(one)))
  }

  /** A property of a constant in the same file, or a property to which only checked text is written. */
  #isCheckedMember(node: Node): boolean {
    if (checkedProperties.test(this.textOf(node))) return true
    const object = node["object"] as Node
    if (object.type === "Identifier") {
      const binding = this.#resolve(object, nameOf(object))
      if (binding.kind === "value" && ["ObjectExpression", "ArrayExpression"].includes(bare(binding.node).type)) return this.isChecked(binding.node)
    }
    return node["computed"] !== true && this.#isCheckedProperty(node, nameOf(node["property"]))
  }

  #isCheckedProperty(from: Node, property: string): boolean {
    const written = this.#writes.get(`${this.#fileOf.get(from)?.path ?? ""} ${property}`) ?? []
    return written.length > 0 && written.every((value) => (isFunction(value) ? this.#returns(value) : this.isChecked(value)))
  }

  #isCheckedBinding(binding: Binding): boolean {
    if (binding.kind === "value") return this.isChecked(binding.node)
    if (binding.kind === "element") return this.isChecked(binding.of)
    if (binding.kind === "member")
      return checkedProperties.test(`${this.textOf(binding.of)}.${binding.property}`) || this.#isCheckedProperty(binding.of, binding.property)
    if (binding.kind === "unknown") return false
    if (this.#fileOf.get(binding.of)?.path.startsWith(schemaFolder) && schemaNames.has(binding.name)) return true
    return (!binding.fallback || this.isChecked(binding.fallback)) && this.#isCheckedParameter(binding.of, binding.index)
  }

  /** Whether every call in the sources passes checked text. A function that is never called by its name may get any text. */
  #isCheckedParameter(fn: Node, index: number): boolean {
    const parent = this.#parentOf.get(fn)
    const owner = parent?.type === "CallExpression" ? parent : undefined
    if (owner) {
      const callee = owner["callee"] as Node
      const method = callee.type === "MemberExpression" ? nameOf(callee["property"]) : ""
      // The second parameter is the index.
      if (index === 1) return mappingMethods.has(method) || method === "from"
      return index === 0 && (mappingMethods.has(method) || method === "filter") && this.isChecked(callee["object"] as Node)
    }
    const calls = this.#callsOf(fn)
    return calls.length > 0 && calls.every((call) => this.#all([(call["arguments"] as readonly Node[])[index]]))
  }

  #callsOf(fn: Node): readonly Node[] {
    const parent = this.#parentOf.get(fn)
    const method = parent?.type === "MethodDefinition" ? parent : undefined
    const owner = method && this.#parentOf.get(this.#parentOf.get(method) as Node)
    if (!method || !owner) {
      const name = nameOf(fn["id"]) || nameOf(parent?.["id"])
      if (name !== "") return (this.#calls.get(name) ?? []).filter((call) => this.#isOf(call, fn))
      return (this.#calls.get(nameOf(parent?.["key"])) ?? []).filter((call) => this.#fileOf.get(call) === this.#fileOf.get(fn))
    }
    if (method["kind"] === "constructor") return (this.#calls.get(nameOf(owner["id"])) ?? []).filter((call) => this.#isOf(call, owner))
    const calls = this.#calls.get(nameOf(method["key"])) ?? []
    const isShared = this.#parentOf.get(owner)?.type === "ExportNamedDeclaration" && (method["key"] as Node).type !== "PrivateIdentifier"
    // Such a function may be called through a port, with a value of a user.
    return isShared ? [] : calls.filter((call) => this.#fileOf.get(call) === this.#fileOf.get(fn))
  }

  #isOf(call: Node, target: Node): boolean {
    const callee = call["callee"] as Node
    const binding = callee.type === "Identifier" ? this.#resolve(callee, nameOf(callee)) : undefined
    return binding?.kind === "value" && binding.node === target
  }

  /** Looks for the name in the scopes around the node, then in the file that it is imported from. */
  #resolve(from: Node, name: string): Binding {
    for (let node = this.#parentOf.get(from); node; node = this.#parentOf.get(node)) {
      const found = isFunction(node) ? parameterOf(node, name) : declaredIn(scopeOf(node), name)
      if (found) return found
    }
    const file = this.#fileOf.get(from)
    return (file && (declaredIn(file.body, name) ?? this.#imported(file, name))) ?? { kind: "unknown" }
  }

  #imported(file: SourceFile, name: string): Binding | undefined {
    for (const statement of file.body) {
      if (statement.type !== "ImportDeclaration") continue
      const specifier = (statement["specifiers"] as readonly Node[]).find((one) => nameOf(one["local"]) === name)
      const path = specifier && file.imports.find((one) => one.specifier === (statement["source"] as { value?: string }).value)?.file
      const target = path === undefined ? undefined : this.#files.get(path)
      if (specifier && target) return this.#exported(target, nameOf(specifier["imported"]))
    }
    return undefined
  }

  /** A binding of the file itself, or of a file that it re-exports. */
  #exported(file: SourceFile, name: string): Binding | undefined {
    const own = declaredIn(file.body, name)
    if (own) return own
    for (const statement of file.body) {
      const specifiers = statement.type === "ExportNamedDeclaration" ? (statement["specifiers"] as readonly Node[]) : []
      const specifier = specifiers.find((one) => nameOf(one["exported"]) === name)
      const source = (statement["source"] as { value?: string } | null | undefined)?.value
      const target = specifier && this.#files.get(file.imports.find((one) => one.specifier === source)?.file ?? "")
      if (specifier && target) return this.#exported(target, nameOf(specifier["local"]))
    }
    return undefined
  }
}

function add(map: Map<string, Node[]>, name: string, node: Node): void {
  const before = map.get(name)
  if (before) before.push(node)
  else map.set(name, [node])
}

const calledName = (callee: Node) => (callee.type === "MemberExpression" ? nameOf(callee["property"]) : nameOf(callee))

const bare = (node: Node): Node => (node.type === "TSAsExpression" || node.type === "TSSatisfiesExpression" ? bare(node["expression"] as Node) : node)

/** The values written to properties: by a class field, a getter, an assignment, or `push`. */
function writesOf(node: Node): readonly (readonly [string, Node])[] {
  if (node.type === "PropertyDefinition") return node["value"] ? [[nameOf(node["key"]), node["value"] as Node]] : []
  if (node.type === "Property") return [[nameOf(node["key"]), node["value"] as Node]]
  if (node.type === "MethodDefinition") return node["kind"] === "get" ? [[nameOf(node["key"]), node["value"] as Node]] : []
  if (node.type === "AssignmentExpression") {
    const left = node["left"] as Node
    return left.type === "MemberExpression" ? [[nameOf(left["property"]), node["right"] as Node]] : []
  }
  if (node.type !== "CallExpression") return []
  const callee = node["callee"] as Node
  const object = callee.type === "MemberExpression" && nameOf(callee["property"]) === "push" ? (callee["object"] as Node) : undefined
  if (object?.type !== "MemberExpression") return []
  return (node["arguments"] as readonly Node[]).map((value) => [nameOf(object["property"]), value] as const)
}

/** The node and its descendants, without the content of functions. */
function* walkOwn(node: Node): Generator<Node> {
  yield node
  for (const value of Object.values(node))
    for (const child of (Array.isArray(value) ? value : [value]) as readonly unknown[])
      if (typeof child === "object" && child !== null && typeof (child as Node).type === "string" && !isFunction(child as Node)) yield* walkOwn(child as Node)
}

function scopeOf(node: Node): readonly Node[] {
  if (node.type === "BlockStatement") return node["body"] as readonly Node[]
  return node.type === "ForOfStatement" || node.type === "ForStatement" ? [node] : []
}

function declaredIn(statements: readonly Node[], name: string): Binding | undefined {
  for (const statement of statements) {
    const node = statement.type === "ExportNamedDeclaration" ? (statement["declaration"] as Node | null) : statement
    if (!node) continue
    if ((node.type === "FunctionDeclaration" || node.type === "ClassDeclaration") && nameOf(node["id"]) === name) return { kind: "value", node }
    const iterated = node.type === "ForOfStatement" ? (node["right"] as Node) : undefined
    const declaration = iterated ? (node["left"] as Node) : node
    if (declaration.type !== "VariableDeclaration") continue
    for (const one of declaration["declarations"] as readonly Node[]) {
      const found = bindingIn(one["id"] as Node, name, iterated ?? (one["init"] as Node | null), iterated !== undefined)
      // A variable that is not constant may get any value later.
      if (found) return declaration["kind"] === "const" ? found : { kind: "unknown" }
    }
  }
  return undefined
}

function bindingIn(pattern: Node, name: string, value: Node | null, isElement: boolean): Binding | undefined {
  if (pattern.type === "Identifier") {
    if (nameOf(pattern) !== name) return undefined
    if (!value) return { kind: "unknown" }
    return isElement ? { kind: "element", of: value } : { kind: "value", node: value }
  }
  if (pattern.type === "ArrayPattern") return namesIn(pattern).includes(name) ? (value ? { kind: "element", of: value } : { kind: "unknown" }) : undefined
  if (pattern.type !== "ObjectPattern") return undefined
  const property = (pattern["properties"] as readonly Node[]).find((one) => namesIn((one["value"] ?? one["argument"]) as Node).includes(name))
  if (!property) return undefined
  return value && !isElement && property["key"] ? { kind: "member", of: value, property: nameOf(property["key"]) } : { kind: "unknown" }
}

function parameterOf(fn: Node, name: string): Binding | undefined {
  for (const [index, parameter] of (fn["params"] as readonly Node[]).entries()) {
    const hasDefault = parameter.type === "AssignmentPattern"
    const pattern = hasDefault ? (parameter["left"] as Node) : parameter
    if (pattern.type === "Identifier" && nameOf(pattern) === name)
      return { kind: "parameter", of: fn, name, index, fallback: hasDefault ? (parameter["right"] as Node) : undefined }
    if (pattern.type !== "Identifier" && namesIn(pattern).includes(name)) return { kind: "unknown" }
  }
  return undefined
}

/** The names that a pattern declares. */
function namesIn(pattern: Node): readonly string[] {
  return [...walkOwn(pattern)].filter(({ type }) => type === "Identifier").map(nameOf)
}
