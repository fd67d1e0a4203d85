/**
 * The same scripts for pi-agent-core. As in its own providers the message so far is one object that is changed in place; the
 * stream has no queue, and arguments are parsed only at their end, both to its advantage.
 */
import { agentLoop as agentLoop80 } from "pi-agent-core-0.80"
import { agentLoop as agentLoop16 } from "pi-agent-core-1.6"
import { Type } from "typebox"
import type { AgentEvent } from "../src/AgentEvent.ts"
import type { Message } from "../src/Message.ts"
import type { ProviderEvent } from "../src/services/Provider.ts"
import { model, prompt, type Response } from "./support.ts"

/** What the benchmarks use of the package. The types of its versions do not fit each other. */
type AgentLoop = (
  prompts: ReadonlyArray<unknown>,
  context: object,
  config: object,
  signal: AbortSignal | undefined,
  streamFn: (model: unknown, context: { readonly messages: ReadonlyArray<unknown> }) => AsyncIterable<unknown>
) => AsyncIterable<{ readonly type: string }>

export const versions = [
  { name: "pi-agent-core 0.80.10", agentLoop: agentLoop80 as unknown as AgentLoop },
  { name: "pi-agent-core 1.6.0", agentLoop: agentLoop16 as unknown as AgentLoop }
]

export interface Options {
  readonly responses: ReadonlyArray<Response>
  /** Awaited before each array. */
  readonly before?: (() => Promise<unknown>) | undefined
  readonly messages?: ReadonlyArray<Message> | undefined
  readonly hooks?: typeof allHooks | undefined
}

/** The same as `allHooks` of support.ts: every hook, each doing the least. */
export const allHooks = {
  transformContext: async (messages: ReadonlyArray<unknown>) => messages,
  convertToLlm: (messages: ReadonlyArray<Message>) => messages.filter((message) => message.role !== undefined),
  beforeToolCall: async () => undefined,
  afterToolCall: async () => undefined,
  prepareNextTurn: async () => undefined,
  shouldStopAfterTurn: async () => false
}

/** Reads a run to its end, and gives how many events of a type there were. */
export const countEvents = async (
  agentLoop: AgentLoop,
  { responses, before, messages = [], hooks }: Options,
  type: AgentEvent["type"]
): Promise<number> => {
  let count = 0
  let n = 0
  const context = { systemPrompt: "", messages, tools: [echo] }
  const config = { model: { ...model, api: "script" }, convertToLlm: (all: unknown) => all, ...hooks }
  const run = agentLoop([prompt], context, config, undefined, () => new ResponseStream(responses[n++]!, before))
  for await (const event of run) if (event.type === type) count++
  return count
}

const echo = {
  name: "echo",
  label: "Echo",
  description: "Echoes a text.",
  parameters: Type.Object({ text: Type.String() }),
  execute: async (_id: string, { text }: { readonly text: string }) => ({
    content: [{ type: "text", text }],
    details: undefined
  })
}

interface Block {
  readonly type: "text" | "toolCall"
  readonly id?: string
  readonly name?: string
  text?: string
  arguments?: unknown
}

const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 }

/** The stream of one response. */
class ResponseStream implements AsyncIterable<unknown> {
  private readonly arrays: Response
  private readonly before: (() => Promise<unknown>) | undefined
  private readonly content: Array<Block> = []
  private readonly message = {
    role: "assistant",
    content: this.content,
    api: "script",
    provider: model.provider,
    model: model.id,
    usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost },
    stopReason: "stop",
    timestamp: Date.now()
  }
  private json = ""

  constructor(arrays: Response, before: (() => Promise<unknown>) | undefined) {
    this.arrays = arrays
    this.before = before
  }

  async result() {
    return this.message
  }

  async *[Symbol.asyncIterator]() {
    for (const events of this.arrays) {
      if (this.before !== undefined) await this.before()
      for (const event of events) yield this.fold(event)
    }
  }

  private fold(event: ProviderEvent): object {
    const { content, message: partial } = this
    switch (event.type) {
      case "text_start":
        content.push({ type: "text", text: "" })
        return { ...event, partial }
      case "text_delta":
        content[event.contentIndex]!.text += event.delta
        return { ...event, partial }
      case "text_end":
        return { ...event, content: content[event.contentIndex]!.text, partial }
      case "toolcall_start":
        this.json = ""
        content.push({ type: "toolCall", id: event.id, name: event.name, arguments: {} })
        return { ...event, partial }
      case "toolcall_delta":
        this.json += event.delta
        return { ...event, partial }
      case "toolcall_end": {
        const toolCall = content[event.contentIndex]!
        toolCall.arguments = JSON.parse(this.json)
        return { ...event, toolCall, partial }
      }
      case "done":
        partial.stopReason = event.reason
        return { type: "done", reason: event.reason, message: partial }
      default:
        return { type: "start", partial }
    }
  }
}
