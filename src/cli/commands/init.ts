import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { basename, join, relative, resolve } from "node:path"
import type { Command } from "commander"
import { CommandError, exitCodes } from "../exit-code.ts"
import { projectFiles } from "../init/project-files.ts"
import type { Invocation } from "../invocation.ts"
import { versionText } from "../program.ts"

export function addInit(program: Command, cli: Invocation): void {
  program
    .command("init")
    .argument("[folder]", "default: this one")
    .addHelpText("after", "\nMakes a project that runs at once. Overwrites nothing.")
    .action(async (folder = ".") => {
      const target = resolve(cli.io.cwd, folder as string)
      const files = projectFiles(packageName(target), await versionText())
      refuseOverwriting(target, Object.keys(files))
      mkdirSync(target, { recursive: true })
      for (const [path, content] of Object.entries(files)) writeFileSync(join(target, path), content, { flag: "wx" })
      const place = relative(cli.io.cwd, target)
      cli.print({ folder: target, files: Object.keys(files) }, () =>
        [
          `made ${Object.keys(files).join(", ")} in ${target}`,
          "",
          "next:",
          ...(place === "" ? [] : [`  cd ${place}`]),
          "  npm install",
          "  npm run dev",
          "",
        ].join("\n"),
      )
    })
}

/** Refuses to write any file if one of the files exists. */
function refuseOverwriting(target: string, paths: readonly string[]): void {
  if (!existsSync(target)) return
  const there = new Set(readdirSync(target))
  const taken = paths.filter((path) => there.has(path))
  if (taken.length > 0)
    throw new CommandError("FILE_EXISTS", exitCodes.failed, `${target} has ${taken.join(", ")} already, and nothing was written; choose an empty folder`)
}

/** A package name that npm accepts, made from the name of the folder. */
function packageName(folder: string): string {
  const name = basename(folder)
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, "-")
    .replace(/^[._-]+|-+$/g, "")
  return name === "" ? "workflows" : name
}
