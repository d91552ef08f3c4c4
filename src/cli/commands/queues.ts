import type { Command } from "commander"
import type { QueueInfo } from "../../client-api/task-control.ts"
import type { Invocation } from "../invocation.ts"
import { relativeTime } from "../output/clock.ts"
import { table } from "../output/table.ts"

export function addQueues(program: Command, cli: Invocation): void {
  program
    .command("queues")
    .addHelpText("after", "\nA queue is listed while activities wait or run in it, or while a worker serves it.")
    .action(async () => {
      const { client } = await cli.openClient()
      const queues = await client.queues()
      cli.print(queues, () => (queues.length === 0 ? "no activities in task queues, and no workers of activities\n" : queueTable(queues, cli)))
    })
}

function queueTable(queues: readonly QueueInfo[], { style, width, io }: Invocation): string {
  const now = io.now()
  const isStuck = ({ waiting, workers }: QueueInfo) => waiting > 0 && workers.length === 0
  return table(
    queues,
    [
      { title: "QUEUE", text: ({ queue }) => queue, widthMin: 8 },
      { title: "WAITING", text: ({ waiting }) => waiting.toLocaleString("en"), align: "right" },
      { title: "RUNNING", text: ({ claimed }) => claimed.toLocaleString("en"), align: "right" },
      { title: "OLDEST", text: ({ oldestAt }) => (oldestAt === undefined ? "" : relativeTime(oldestAt, now)) },
      {
        title: "WORKERS",
        text: (queue) =>
          isStuck(queue) ? "nobody serves it" : queue.workers.map(({ worker, activities }) => `${worker} (${activities.join(", ")})`).join("; "),
        paint: (queue) => (isStuck(queue) ? style.yellow : (text) => text),
        widthMin: 12,
      },
    ],
    { width, style },
  )
}
