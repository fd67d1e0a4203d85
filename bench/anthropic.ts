/**
 * A response over loopback, from the socket to the consumer of agent events, against the SDK's own iterator of the same
 * bytes read to its end. The server is a process of its own, and has its bytes ready.
 */
import { spawn } from "node:child_process"
import { type AddressInfo, createServer } from "node:net"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
// The package of this folder has an older SDK below it.
import { Anthropic as Sdk } from "../node_modules/@anthropic-ai/sdk/index.mjs"
import * as Loop from "../src/Loop.ts"
import * as Anthropic from "../src/providers/Anthropic.ts"
import { compare } from "./harness.ts"
import { DELTA, prompt } from "./support.ts"

const DELTAS = 20_000

interface Event {
  readonly type: string
  readonly [member: string]: unknown
}

const sse = (event: Event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`

const beginning = [
  {
    type: "message_start",
    message: { id: "msg_1", role: "assistant", content: [], usage: { input_tokens: 1, output_tokens: 1 } }
  },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }
]
  .map(sse)
  .join("")
const end = [
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: DELTAS } },
  { type: "message_stop" }
]
  .map(sse)
  .join("")

const deltaOf = (text: string) => sse({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } })

/** What one text is, and how many deltas there are in a chunk of HTTP. */
const cases = {
  plain: { delta: DELTA, perChunk: 500 },
  escaped: { delta: 'twenty "characters"\n', perChunk: 500 },
  single: { delta: DELTA, perChunk: 1 }
} as const
type Case = keyof typeof cases

// ---------------------------------------------------------------------------------------------------------------------
// Server
// ---------------------------------------------------------------------------------------------------------------------

const chunkOf = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`

const responseTo = ({ delta, perChunk }: (typeof cases)[Case]): Buffer =>
  Buffer.from(
    [
      "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
      chunkOf(beginning),
      chunkOf(deltaOf(delta).repeat(perChunk)).repeat(DELTAS / perChunk),
      chunkOf(end),
      "0\r\n\r\n"
    ].join("")
  )

/** Answers each request as a whole, in large writes. */
const serve = () => {
  const responses = Object.fromEntries(Object.entries(cases).map(([name, each]) => [name, responseTo(each)]))
  const server = createServer((socket) => {
    let received = ""
    socket.on("data", (bytes) => {
      received += bytes
      const [head = "", body] = received.split("\r\n\r\n")
      if (body === undefined || body.length < Number(/content-length: (\d+)/i.exec(head)?.[1])) return
      received = ""
      socket.write(responses[/x-case: (\w+)/i.exec(head)![1]!]!)
    })
    socket.on("error", () => {})
  })
  server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port))
}

const startServer = () =>
  new Promise<{ readonly url: string; readonly stop: () => void }>((resolve) => {
    const child = spawn(process.execPath, [import.meta.filename, "server"], { stdio: ["ignore", "pipe", "inherit"] })
    child.stdout.once("data", (port: Buffer) =>
      resolve({ url: `http://127.0.0.1:${String(port).trim()}`, stop: () => void child.kill() })
    )
  })

// ---------------------------------------------------------------------------------------------------------------------
// Clients
// ---------------------------------------------------------------------------------------------------------------------

const model = { id: "claude-sonnet-4-6", provider: "anthropic" }

const sdkOf = (url: string, name: Case) => {
  const client = new Sdk({ apiKey: "k", baseURL: url, maxRetries: 0, defaultHeaders: { "x-case": name } })
  return async () => {
    let count = 0
    const events = await client.messages.create({
      model: model.id,
      max_tokens: 100,
      messages: [{ role: "user", content: "go" }],
      stream: true
    })
    for await (const event of events) if (event.type === "content_block_delta") count++
    return count
  }
}

const oursOf = (url: string, name: Case) => () =>
  Effect.suspend(() => {
    let count = 0
    const read = Stream.runForEachArray(Loop.run({ model, prompts: [prompt] }), (events) => {
      for (const event of events) {
        if (event.type === "message_update" && event.assistantMessageEvent.type === "text_delta") count++
      }
      return Effect.void
    })
    return Effect.map(read, () => count)
  }).pipe(
    Effect.provide(Anthropic.layerWith({ apiKey: Redacted.make("k"), baseUrl: url, headers: { "x-case": name } })),
    Effect.runPromise
  )

if (process.argv[2] === "server") serve()
else {
  const { url, stop } = await startServer()
  const variants = (name: Case) => [
    { name: "the SDK's iterator", run: sdkOf(url, name), count: DELTAS },
    { name: "Loop.run with the provider", run: oursOf(url, name), count: DELTAS, atMost: 0.8 }
  ]
  await compare(`${DELTAS} deltas over loopback`, variants("plain"))
  await compare(`${DELTAS} deltas over loopback, each with escapes`, variants("escaped"))
  await compare(`${DELTAS} deltas over loopback, each in a chunk of its own`, variants("single"))
  stop()
}
