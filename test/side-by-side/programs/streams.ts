import { WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep } from "cloudflare:workers"
import { note } from "../notebook.ts"
import { ended, errorText, report } from "../observation.ts"
import { type Drive, type Feature, program } from "../program.ts"

const once = { retries: { limit: 0, delay: 1 } }

const onlyEnd: Drive = async ({ start }) => ({ end: await ended(await start()) })

const textOf = (stream: ReadableStream) => new Response(stream).text()

function streamOf(chunks: readonly unknown[], options: { failsAtTheEnd?: boolean } = {}): ReadableStream {
  let at = 0
  return new ReadableStream({
    pull(controller) {
      if (at < chunks.length) return controller.enqueue(chunks[at++])
      if (options.failsAtTheEnd) controller.error(new Error("the source broke"))
      else controller.close()
    },
  })
}

const bytes = (text: string) => new TextEncoder().encode(text)

class StreamedText extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const stream = await step.do("stream", async () => streamOf([bytes("hello, "), bytes("stream")]))
    return textOf(stream)
  }
}

class EmptyStream extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const stream = await step.do("stream", async () => streamOf([]))
    return (await textOf(stream)).length
  }
}

class LongStream extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const stream = await step.do("stream", async () => streamOf(Array.from({ length: 30 }, (__, index) => new Uint8Array(100_000).fill(index))))
    const whole = new Uint8Array(await new Response(stream).arrayBuffer())
    return [whole.length, whole[0], whole[1_550_000], whole.at(-1)]
  }
}

class StreamAgain extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const stream = await step.do("stream", async () => {
      note("StreamAgain", "made")
      return streamOf([bytes("kept")])
    })
    const text = await textOf(stream)
    await step.do("after", async () => note("StreamAgain", `read ${text}`))
    return text
  }
}

class ParallelStreams extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const streams = await Promise.all(["a", "b"].map((name) => step.do(name, async () => streamOf([bytes(name)]))))
    return Promise.all(streams.map(textOf))
  }
}

class BrokenStream extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const retries = { limit: 1, delay: 10, backoff: "constant" as const }
    const stream = await step.do("stream", { retries }, async ({ attempt }) => {
      note("BrokenStream", `attempt ${attempt}`)
      return streamOf([bytes(`attempt ${attempt}`)], { failsAtTheEnd: attempt === 1 })
    })
    return textOf(stream)
  }
}

class LockedStream extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const caught = await step
      .do("stream", once, async () => {
        const stream = streamOf([bytes("locked")])
        stream.getReader()
        return stream
      })
      .then(() => "no error", errorText)
    note("LockedStream", `caught ${caught}`)
  }
}

class TextChunks extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    return textOf(await step.do("stream", once, async () => streamOf(["text ", "and more ☃"])))
  }
}

class NumberChunks extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const caught = await step.do("stream", once, async () => streamOf([1, 2])).then(() => "no error", errorText)
    note("NumberChunks", `caught ${caught}`)
  }
}

class BufferChunks extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    return textOf(await step.do("stream", once, async () => streamOf([bytes("a buffer, ").buffer, new DataView(bytes("a view").buffer)])))
  }
}

class HugeStream extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const chunks = Array.from({ length: 9 }, () => new Uint8Array(1_048_576))
    const stream = await step.do("stream", once, async () => streamOf(chunks))
    return (await new Response(stream).arrayBuffer()).byteLength
  }
}

class SecretStream extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const stream = await step.do("stream", { sensitive: "output" }, async () => streamOf([bytes("secret")]))
    return (await textOf(stream)).length
  }
}

class ResponseBody extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const stream = await step.do("stream", async () => new Response("the body of a response").body as ReadableStream)
    return textOf(stream)
  }
}

export const streams: Feature = {
  title: "Streams",
  programs: [
    program("a step returns a stream", { StreamedText }),
    program("a step returns the body of a response", { ResponseBody }),
    program("an empty stream", { EmptyStream }),
    program("a stream of 3 MB", { LongStream }, onlyEnd),
    program("a stream comes back after a restart from a later step", { StreamAgain }, async ({ start }) => {
      const instance = await start()
      const first = await ended(instance)
      await instance.restart({ from: { name: "after" } })
      return { first, ...(await report(instance)) }
    }),
    program("streams of parallel steps", { ParallelStreams }, onlyEnd),
    program("a stream that breaks is a failed attempt", { BrokenStream }, onlyEnd),
    program("a locked stream", { LockedStream }, onlyEnd),
    program("a stream of text in place of bytes", { TextChunks }, onlyEnd),
    program("a stream of numbers", { NumberChunks }, onlyEnd),
    program("a stream of buffers and views", { BufferChunks }, onlyEnd),
    program("a stream of 9 MiB", { HugeStream }, async ({ start }) => ({ status: (await ended(await start()))["status"] })),
    program("a sensitive stream", { SecretStream }),
  ],
}
