// Writes docs/cloudflare-compatibility.md: what was compared, and every difference that stays. The tests prove that both lists are what a run finds.

import { readFileSync } from "node:fs"
import { features } from "./features.ts"
import { type KnownDifference, reasons } from "./known-differences.ts"

export const pagePath = new URL("../../docs/cloudflare-compatibility.md", import.meta.url)

export function compatibilityPage(): string {
  const count = features.reduce((sum, { programs }) => sum + programs.length, 0)
  const differing = new Set(reasons.flatMap(({ differences }) => differences.map(({ program }) => program)))
  const same = (titles: readonly string[]) => titles.filter((title) => !differing.has(title)).length
  const rows = features.map(({ title, programs }) => [title, programs.length, same(programs.map((program) => program.title))])
  const sections = [
    "# Compatibility with Cloudflare Workflows",
    `${count} small programs for Cloudflare Workflows run on three engines: on Cloudflare's local engine (miniflare ${miniflareVersion()}), with Perdure on SQLite under Node, and with Perdure in Durable Objects. ${count - differing.size} of them show the same everywhere. The other ${differing.size} show the differences below, and only these.`,
    "Nobody edits this page: `WRITE_DOCS=1 npm test -- test/side-by-side` writes it. The tests fail where a program shows a difference that is not listed, where a listed difference no longer appears, and where this page is not what the run would write.",
    "## What was compared",
    table(["feature", "programs", "of them the same"], rows),
    notCompared,
    "## Differences",
    reasons.map(section).join("\n\n"),
  ]
  return `${sections.join("\n\n")}\n`
}

const notCompared = `Compared are results, errors with their names and messages, status, the events of \`subscribe\` with their fields and their order, attempts, and what the callbacks did. Not compared are:

- times, event ids and random ids. Programs that look at them say what they expect. \`retryDelayMs\` is compared in steps of 200 ms;
- \`waiting\` and \`rollingBack\`: Cloudflare's local engine shows both as \`running\`. One program looks at each;
- the \`config\` of \`step_started\` and \`rollback_step_started\`. One program looks at that of \`step_started\`;
- how long \`sleep_started\` says that a sleep takes. One program looks at it;
- \`rollback\` of the status, which one program looks at;
- crashes: Cloudflare's local engine does not go on after its process is killed. [The guarantees](guarantees.md) tell what Perdure does.`

function section({ title, why, differences }: (typeof reasons)[number]): string {
  const rows = differences.map(({ program, at, theirs, ours, host }: KnownDifference) => [
    program,
    host === undefined ? at : `${at} (${host})`,
    code(theirs),
    code(ours),
  ])
  return `### ${title}\n\n${why}\n\n${table(["program", "where", "Cloudflare's local engine", "Perdure"], rows)}`
}

function table(heads: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const line = (cells: readonly (string | number)[]) => `| ${cells.join(" | ")} |`
  return [line(heads), line(heads.map(() => "---")), ...rows.map(line)].join("\n")
}

function code(value: unknown): string {
  if (value === undefined) return "nothing"
  const text = typeof value === "string" ? value : JSON.stringify(value)
  return `\`${text.replaceAll("|", "\\|").replaceAll("`", "'")}\``
}

function miniflareVersion(): string {
  const manifest = JSON.parse(readFileSync(new URL("./package.json", import.meta.url), "utf8")) as { devDependencies: Record<string, string> }
  return manifest.devDependencies["miniflare"] ?? ""
}
