#!/usr/bin/env node
// The command line. Only this file touches the process; all other files use `Io`.

import { exitCodes } from "./exit-code.ts"
import { Interruption, type Io } from "./io.ts"
import { run } from "./run.ts"

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)
if (major < 22 || (major === 22 && minor < 13)) {
  process.stderr.write(`error OLD_NODE: perdure needs Node 22.13 or later, and this is ${process.versions.node}\n`)
  process.exit(exitCodes.failed)
}

const interrupt = new AbortController()

const onSignal = (exitCode: number) => {
  // A second Ctrl-C ends the process without a clean shutdown.
  if (interrupt.signal.aborted) process.exit(exitCode)
  interrupt.abort(new Interruption(exitCode))
}
process.on("SIGINT", () => onSignal(exitCodes.interrupted))
process.on("SIGTERM", () => onSignal(exitCodes.terminated))

// Older versions of Node print a warning that SQLite is experimental. A user of the CLI can do nothing about it.
process.removeAllListeners("warning")
process.on("warning", ({ name, message }) => {
  if (name !== "ExperimentalWarning") process.stderr.write(`${name}: ${message}\n`)
})

// The reader of a pipe may stop early, as in `perdure list --all | head`. This is no error.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error
    interrupt.abort(new Interruption(exitCodes.ok))
  })
}

const io: Io = {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  cwd: process.cwd(),
  signal: interrupt.signal,
  now: () => Date.now(),
}

process.exitCode = await run(process.argv.slice(2), io)

// A module of the user may keep the process alive for ever, so the process exits as soon as its output is written.
setInterval(() => {
  if (process.stdout.writableLength === 0 && process.stderr.writableLength === 0) process.exit()
}, 100).unref()
