import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import type { Duration } from "../../src/index.ts"

export interface ActivityProcessOptions {
  readonly store: { readonly url: string; readonly schema: string } | { readonly path: string }
  readonly lease: Duration
  readonly runs: "workflows" | "activities"
  /** How long an activity takes. */
  readonly workMs: number
}

export type ActivityReport =
  | { readonly type: "ready" }
  | { readonly type: "call"; readonly instance: string; readonly attempt: number; readonly lastHeartbeat: unknown }
  | { readonly type: "aborted"; readonly instance: string; readonly attempt: number; readonly code: string }

const script = fileURLToPath(new URL("./activity-worker.ts", import.meta.url))

/** A process that runs workflows or activities, seen from the test that started it. */
export class ActivityProcess {
  readonly reports: ActivityReport[] = []
  readonly #child: ChildProcess
  readonly #exited: Promise<unknown>

  constructor(options: ActivityProcessOptions) {
    this.#child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", script, JSON.stringify(options)], {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    })
    this.#exited = once(this.#child, "exit")
    this.#child.on("message", (report: ActivityReport) => this.reports.push(report))
  }

  get calls(): readonly Extract<ActivityReport, { type: "call" }>[] {
    return this.reports.filter((report) => report.type === "call")
  }

  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    this.#child.kill(signal)
  }

  async end(signal: "SIGKILL" | "SIGTERM" = "SIGKILL"): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    this.#child.kill(signal)
    // A stopped process takes no other signal.
    if (signal === "SIGTERM") this.#child.kill("SIGCONT")
    await this.#exited
  }
}
