// Finds public names without JSDoc: every export of an entry, and every visible member of the interfaces, classes, object types and constants
// among them. A member counts wherever it is declared: in a type that another one extends, in a part of an intersection, below an `Omit`.

import { type Node, placeOf, type SourceFile } from "./source-file.ts"

/** A declaration, with its file and its statement. */
interface Declared {
  readonly name: string
  readonly file: SourceFile
  readonly statement: Node
  readonly declaration: Node
}

/** A member of a public type: its declaration, and its comment or the comment of the type that it comes from. Without a comment the text is empty. */
interface Member {
  readonly key: string
  readonly owner: string
  readonly place: string
  readonly comment: string
}

const list = (value: unknown): readonly Node[] => (Array.isArray(value) ? (value as readonly Node[]) : [])

const nameOf = (node: unknown): string | undefined => {
  const { name, value, computed } = (node ?? {}) as { readonly name?: string; readonly value?: string; readonly computed?: boolean }
  return computed ? undefined : (name ?? value)
}

/** Computed keys, such as `[Symbol.asyncDispose]`, are skipped, because users do not write them. */
const keyOf = (member: Node): string | undefined => (member["computed"] === true ? undefined : nameOf(member["key"]))

/** The JSDoc comment that ends right before the node and contains words. Line comments may lie between them, such as comments for a linter. */
function commentOf({ text }: SourceFile, { start }: Node): string {
  const before = text
    .slice(0, start)
    .trimEnd()
    .replace(/(?:\n[ \t]*\/\/[^\n]*)+$/, "")
    .trimEnd()
  const opening = before.lastIndexOf("/**")
  const comment = opening !== -1 && before.indexOf("*/", opening + 3) === before.length - 2 ? before.slice(opening) : ""
  return /\w/.test(comment) ? comment : ""
}

function declarationsOf(statement: Node): readonly Node[] {
  const isExport = statement.type === "ExportNamedDeclaration"
  const declaration = isExport ? (statement["declaration"] as Node | null) : statement
  if (!declaration) return []
  return declaration.type === "VariableDeclaration" ? list(declaration["declarations"]) : [declaration]
}

function isPublicMember(member: Node): boolean {
  const key = member["key"] as Node | undefined
  const isPrivate = key?.type === "PrivateIdentifier" || member["accessibility"] === "private" || member["accessibility"] === "protected"
  return !isPrivate && member.type !== "StaticBlock" && member["kind"] !== "constructor"
}

/** The texts of a literal type, or of a union of literal types. */
function literalsOf(type: Node | undefined): readonly string[] {
  if (type?.type === "TSUnionType") return list(type["types"]).flatMap(literalsOf)
  const text = type?.type === "TSLiteralType" ? nameOf(type["literal"]) : undefined
  return text === undefined ? [] : [text]
}

/** Types of TypeScript that have the members of their first argument. */
const passing = new Set(["Partial", "Required", "Readonly", "NonNullable"])

/** `field?: never` forbids a member. */
function isForbidden(member: Node): boolean {
  const annotation = member["typeAnnotation"] as Node | null | undefined
  return (annotation?.["typeAnnotation"] as Node | null | undefined)?.type === "TSNeverKeyword"
}

/** A member of several parts of a type has the comments of all of them. */
function merged(members: readonly Member[]): readonly Member[] {
  const comments = new Map<string, string>()
  for (const { key, comment } of members) comments.set(key, (comments.get(key) ?? "") + comment)
  return members.map((member) => ({ ...member, comment: comments.get(member.key) ?? "" }))
}

export class Documentation {
  readonly #byPath: ReadonlyMap<string, SourceFile>

  constructor(files: readonly SourceFile[]) {
    this.#byPath = new Map(files.map((file) => [file.path, file]))
  }

  /** `path:line name`, for each public name of these entries that has no JSDoc. */
  missing(entries: readonly SourceFile[]): readonly string[] {
    return [...this.#commentsOf(entries)].filter(([, comment]) => comment === "").map(([name]) => name)
  }

  /** The comments of all checked names, as `Handle` and `Handle.result`. */
  comments(entries: readonly SourceFile[]): ReadonlyMap<string, string> {
    const found = new Map<string, string>()
    for (const [line, comment] of this.#commentsOf(entries)) {
      const name = line.slice(line.indexOf(" ") + 1)
      found.set(name, (found.get(name) ?? "") + comment)
    }
    return found
  }

  /** `path:line name`, and its comment. */
  #commentsOf(entries: readonly SourceFile[]): ReadonlyMap<string, string> {
    const found = new Map<string, string>()
    for (const entry of entries) {
      for (const { name } of entry.exports) {
        const declared = this.#exported(entry, name)
        if (!declared) {
          found.set(`${entry.path} ${name}, whose declaration was not found`, "")
          continue
        }
        const { file, statement, declaration } = declared
        found.set(`${placeOf(file, declaration)} ${name}`, commentOf(file, statement))
        for (const member of this.#membersOf(declared, true)) {
          const line = `${member.place} ${member.owner === declared.name ? name : member.owner}.${member.key}`
          found.set(line, found.get(line) || member.comment)
        }
      }
    }
    return found
  }

  /** With `isValue` the members of the class itself, which include static members, and not the members of its objects. */
  #membersOf(declared: Declared, isValue = false): readonly Member[] {
    const { declaration } = declared
    const { type } = declaration
    if (type === "TSInterfaceDeclaration") {
      const inherited = list(declaration["extends"]).flatMap((parent) => this.#ofReference(declared, parent["expression"] as Node, parent))
      return this.#own(declared, list((declaration["body"] as Node)["body"]), inherited)
    }
    if (type === "ClassDeclaration") {
      const superclass = this.#ofReference(declared, declaration["superClass"] as Node | null, undefined, isValue)
      const promised = list(declaration["implements"]).flatMap((parent) => this.#ofReference(declared, parent["expression"] as Node, parent))
      const members = list((declaration["body"] as Node)["body"]).filter((member) => isPublicMember(member) && (isValue || member["static"] !== true))
      const own = new Set(members.map(keyOf))
      // A class takes comments from the interfaces that it implements, but only for members that the class declares.
      return this.#own(declared, members, [...superclass, ...promised.filter(({ key }) => own.has(key))])
    }
    if (type === "TSTypeAliasDeclaration") return this.#ofType(declared, declaration["typeAnnotation"] as Node)
    if (type !== "VariableDeclarator") return []
    const annotation = (declaration["id"] as Node)["typeAnnotation"] as Node | null | undefined
    if (annotation) return this.#ofType(declared, annotation["typeAnnotation"] as Node)
    const value = declaration["init"] as Node | null
    return value?.type === "ObjectExpression" ? this.#own(declared, list(value["properties"]), []) : []
  }

  /** The declared members, each once, and the inherited members that are not declared again. Of overloads, editors show the first comment. */
  #own({ file, name }: Declared, nodes: readonly Node[], inherited: readonly Member[]): readonly Member[] {
    const own = new Map<string, Member>()
    for (const node of nodes) {
      const key = keyOf(node)
      if (key === undefined || own.has(key) || isForbidden(node)) continue
      const comment = commentOf(file, node) || (inherited.find((member) => member.key === key && member.comment !== "")?.comment ?? "")
      own.set(key, { key, owner: name, place: placeOf(file, node), comment })
    }
    return [...own.values(), ...inherited.filter(({ key }) => !own.has(key))]
  }

  #ofType(declared: Declared, type: Node | null | undefined): readonly Member[] {
    switch (type?.type) {
      case "TSTypeLiteral":
        return this.#own(declared, list(type["members"]), [])
      case "TSIntersectionType":
      case "TSUnionType":
        return merged(list(type["types"]).flatMap((part) => this.#ofType(declared, part)))
      case "TSParenthesizedType":
      case "TSMappedType":
        return this.#ofType(declared, type["typeAnnotation"] as Node | null)
      case "TSIndexedAccessType": {
        // For `{ [K in Names]: … }[Names]` the members of the values. An indexed access to another type is described by that member.
        const object = type["objectType"] as Node
        return object.type === "TSMappedType" ? this.#ofType(declared, object) : []
      }
      case "TSConditionalType":
        return merged([...this.#ofType(declared, type["trueType"] as Node), ...this.#ofType(declared, type["falseType"] as Node)])
      case "TSTypeReference":
        return this.#ofReference(declared, type["typeName"] as Node, type)
      case undefined:
      default:
        return []
    }
  }

  /** The members of a named type. Types of the language and of packages have none here, because their comments are elsewhere. */
  #ofReference(declared: Declared, named: Node | null, reference?: Node, isValue = false): readonly Member[] {
    const name = nameOf(named)
    if (name === undefined) return []
    const [first, second] = list((reference?.["typeArguments"] as Node | null | undefined)?.["params"])
    if (passing.has(name)) return this.#ofType(declared, first)
    if (name === "Omit" || name === "Pick") {
      const keys = new Set(literalsOf(second))
      return this.#ofType(declared, first).filter(({ key }) => keys.has(key) === (name === "Pick"))
    }
    const found = this.#local(declared.file, name)
    return found && found.declaration !== declared.declaration ? this.#membersOf(found, isValue) : []
  }

  /** The declaration of a name that a file exports. */
  #exported(file: SourceFile, name: string): Declared | undefined {
    for (const statement of file.body) {
      if (statement.type !== "ExportNamedDeclaration") continue
      const specifier = list(statement["specifiers"]).find((one) => nameOf(one["exported"]) === name)
      if (!specifier) continue
      const original = nameOf(specifier["local"]) ?? name
      const source = statement["source"] as Node | null
      const from = source ? this.#imported(file, source) : undefined
      return source ? from && this.#exported(from, original) : this.#local(file, original)
    }
    return this.#local(file, name)
  }

  /** The declaration of a name that a file declares or imports. */
  #local(file: SourceFile, name: string): Declared | undefined {
    for (const statement of file.body) {
      const declaration = declarationsOf(statement).find((node) => nameOf(node["id"]) === name)
      if (declaration) return { name, file, statement, declaration }
      if (statement.type !== "ImportDeclaration") continue
      const specifier = list(statement["specifiers"]).find((one) => nameOf(one["local"]) === name)
      const from = specifier && this.#imported(file, statement["source"] as Node)
      if (from) return this.#exported(from, nameOf(specifier["imported"]) ?? name)
    }
    return undefined
  }

  #imported(file: SourceFile, source: Node): SourceFile | undefined {
    const path = file.imports.find(({ specifier }) => specifier === nameOf(source))?.file
    return path === undefined ? undefined : this.#byPath.get(path)
  }
}
