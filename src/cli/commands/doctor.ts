import type { Command } from "commander"
import { databaseOf } from "../target/database-target.ts"
import { fileChecks } from "../doctor/file-checks.ts"
import { fail, type Finding, ok } from "../doctor/finding.ts"
import { platformChecks } from "../doctor/platform-checks.ts"
import { workChecks } from "../doctor/work-checks.ts"
import { exitCodes } from "../exit-code.ts"
import type { Invocation } from "../invocation.ts"
import { oneLine, truncate } from "../output/plain-text.ts"
import { isAddress } from "../target/database-argument.ts"

export function addDoctor(program: Command, cli: Invocation): void {
  program
    .command("doctor")
    .addHelpText("after", "\nLooks at Node, the database or server, and what is in it. Changes nothing. Exit code 1: something has failed.")
    .action(async () => {
      const findings = [...(await platformChecks()), ...(await targetChecks(cli))]
      const isOk = findings.every(({ level }) => level !== "fail")
      cli.print({ ok: isOk, findings }, () => `${findings.map((finding) => lineOf(finding, cli)).join("\n")}\n`)
      if (!isOk) cli.exitCode = exitCodes.failed
    })
}

async function targetChecks(cli: Invocation): Promise<readonly Finding[]> {
  const { target } = cli
  if (target.kind === "url" && target.serves !== undefined)
    return [await checkServer(`${target.url} (perdure dev)`, target.url), ...(await databaseChecks(target.serves, cli))]
  if (target.kind === "url" && target.from !== "the default") return [await checkServer(target.url)]
  return databaseChecks(databaseOf(cli, "doctor"), cli)
}

async function databaseChecks(db: string, { io }: Invocation): Promise<readonly Finding[]> {
  if (isAddress(db)) return (await import("../doctor/server-checks.ts")).serverChecks(db, io.now)
  const { findings, isReadable } = fileChecks(db)
  if (!isReadable) return findings
  try {
    return [...findings, ...workChecks(db, io.now())]
  } catch (error) {
    return [...findings, fail("content", error instanceof Error ? error.message : String(error), "perdure migrate, if the schema is older than this perdure")]
  }
}

async function checkServer(name: string, url = name): Promise<Finding> {
  try {
    const response = await fetch(new URL("readyz", url.endsWith("/") ? url : `${url}/`), { signal: AbortSignal.timeout(5_000) })
    if (response.ok) return ok("server", `${name} is ready`)
    return fail("server", `${name} answers ${response.status} to /readyz`, "look at the log of the server")
  } catch (error) {
    return fail("server", `${name} does not answer: ${error instanceof Error ? error.message : String(error)}`, "start it, or give another --url")
  }
}

/** The width of `ok   ` and of the other marks. */
const markWidth = 5

/** The finding on one line, and the advice on the next line. */
function lineOf({ name, level, message, way }: Finding, { style, width }: Invocation): string {
  const mark = { ok: style.green("ok  "), warn: style.yellow("warn"), fail: style.red("fail") }[level]
  return `${mark} ${style.bold(name)}: ${truncate(oneLine(message), Math.max(20, width - markWidth - name.length - 2))}${way === undefined ? "" : `\n     ${style.dim(`→ ${way}`)}`}`
}
