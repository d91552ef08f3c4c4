import type { Argument, Command, Option } from "commander"

/** What can stand at the cursor. With `files` the shell completes names of files. */
export type Completion =
  | { readonly kind: "words"; readonly words: readonly Word[] }
  | { readonly kind: "files" }
  /** Names that only the database or the server knows. */
  | { readonly kind: "names"; readonly of: NameKind; readonly prefix: string; readonly globals: Readonly<Record<string, string>> }

export type NameKind = "instances" | "schedules" | "workflows" | "queues" | "profiles"

export interface Word {
  readonly word: string
  readonly about: string
}

/** Completes the last of the words after `perdure`, from the definitions of commands and options. */
export function complete(program: Command, words: readonly string[]): Completion {
  const current = words.at(-1) ?? ""
  const globals: Record<string, string> = {}
  let command = program
  let position = 0
  let value: Option | undefined
  for (const word of words.slice(0, -1)) {
    if (value) {
      if (program.options.includes(value)) globals[value.attributeName()] = word
      value = undefined
    } else if (word.startsWith("-") && word.length > 1) value = optionOf(program, command, word)
    else if (word !== "help" || command !== program) {
      const next = position === 0 ? command.commands.find((one) => one.name() === word) : undefined
      if (next) command = next
      else position++
    }
  }
  const named = (of: NameKind): Completion => ({ kind: "names", of, prefix: current, globals })
  if (value) return valueCompletion(value, current, named)
  if (current.startsWith("-")) return wordsOf(optionWords(program, command), current)
  if (command.commands.length > 0 && position === 0) return wordsOf(commandWords(program, command), current)
  return argumentCompletion(command, command.registeredArguments[position] ?? command.registeredArguments.findLast(({ variadic }) => variadic), current, named)
}

type Named = (of: NameKind) => Completion

const fileOptions = new Set(["db", "inputFile", "payloadFile", "wrangler"])

function valueCompletion(option: Option, current: string, named: Named): Completion {
  if (option.argChoices) return wordsOf(plainWords(option.argChoices), current)
  if (option.attributeName() === "workflow") return named("workflows")
  if (option.attributeName() === "queue") return named("queues")
  if (option.attributeName() === "profile") return named("profiles")
  return fileOptions.has(option.attributeName()) ? { kind: "files" } : { kind: "words", words: [] }
}

function argumentCompletion(command: Command, argument: Argument | undefined, current: string, named: Named): Completion {
  if (argument?.argChoices) return wordsOf(plainWords(argument.argChoices), current)
  if (argument?.name() === "id") return named(command.parent?.name() === "schedules" ? "schedules" : "instances")
  if (argument?.name() === "workflow") return named("workflows")
  if (argument && /^(file|module|path|folder)$/.test(argument.name())) return { kind: "files" }
  return { kind: "words", words: [] }
}

function optionWords(program: Command, command: Command): Word[] {
  const own = new Set(command.options.map(({ long }) => long))
  const all = command === program ? command.options : [...command.options, ...program.options.filter(({ long }) => !own.has(long))]
  const words = all.filter(({ hidden }) => !hidden).map(({ long, short, description }) => ({ word: long ?? short ?? "", about: description }))
  return [...words, { word: "--help", about: "show help" }]
}

function commandWords(program: Command, command: Command): Word[] {
  const help = program.createHelp()
  return help.visibleCommands(command).map((one) => ({ word: one.name(), about: help.subcommandDescription(one) }))
}

function plainWords(words: readonly string[]): Word[] {
  return words.map((word) => ({ word, about: "" }))
}

function wordsOf(words: readonly Word[], current: string): Completion {
  return { kind: "words", words: words.filter(({ word }) => word.startsWith(current)) }
}

/** The option, if the next word is its value. */
function optionOf(program: Command, command: Command, word: string): Option | undefined {
  if (word.includes("=")) return undefined
  const found = [...command.options, ...program.options].find(({ long, short }) => long === word || short === word)
  return found?.required === true ? found : undefined
}

/** Splits a shell line up to the cursor into words. The last word is empty if the cursor stands after a blank. */
export function splitLine(line: string): readonly string[] {
  const words: string[] = []
  let word = ""
  let quote = ""
  for (let index = 0; index < line.length; index++) {
    const character = line.charAt(index)
    if (quote !== "") {
      if (character === quote) quote = ""
      else word += character
    } else if (character === '"' || character === "'") quote = character
    else if (character === "\\") word += line.charAt(++index)
    else if (character === " " || character === "\t") {
      if (word !== "") words.push(word)
      word = ""
    } else word += character
  }
  return [...words, word]
}
