/**
 * Folds a provider's events into one assistant message. The loop does this, not the provider, so that providers cannot
 * disagree about partial messages. A snapshot is a value: later events never change it.
 */
import * as Schema from "effect/Schema"
import type { AssistantMessageEvent } from "../AgentEvent.ts"
import {
  type AssistantContent,
  type AssistantMessage,
  emptyUsage,
  type ResponseError,
  type StopDetail,
  type StopReason,
  type Usage
} from "../Message.ts"
import { type Model, ProviderEvent } from "../services/Provider.ts"
import { copyPlain } from "./arguments.ts"
import { ArgumentText, finishCall, PartialToolCall } from "./preview.ts"

/** How a response ended. */
export interface Ending {
  readonly stopReason: StopReason
  readonly stopDetail?: StopDetail | undefined
  readonly usage?: Usage | undefined
  readonly errorMessage?: string | undefined
  readonly error?: ResponseError | undefined
}

type Block =
  | { readonly type: "text" | "thinking"; isOpen: boolean }
  | {
      readonly type: "toolCall"
      isOpen: boolean
      readonly id: string
      readonly name: string
      readonly text: ArgumentText
    }
  | { readonly type: "other"; readonly isOpen: false }

type Delta = Extract<ProviderEvent, { type: "text_delta" | "thinking_delta" | "toolcall_delta" }>

const isProviderEvent = Schema.is(ProviderEvent)

/** The types of events that mean something to us; others are ignored. */
const types: ReadonlySet<string> = new Set(ProviderEvent.members.map(({ fields }) => fields.type.schema.literal))

export class MessageFold {
  /** The provider has begun the response: the message is open for readers. */
  isStarted = false
  /** What the provider said at the end; nothing comes after it. */
  done: Extract<ProviderEvent, { type: "done" }> | undefined
  /** What the provider did that makes no sense; nothing is folded after it. */
  fault: string | undefined

  private content: ReadonlyArray<AssistantContent> = []
  private readonly blocks: Array<Block> = []
  private model: Model
  private readonly timestamp: number
  private readonly uniqueId: (id: string) => string

  constructor(model: Model, timestamp: number, uniqueId: (id: string) => string) {
    this.model = model
    this.timestamp = timestamp
    this.uniqueId = uniqueId
  }

  get isOver(): boolean {
    return this.done !== undefined || this.fault !== undefined
  }

  /** The message so far. */
  get snapshot(): AssistantMessage {
    return {
      role: "assistant",
      content: this.content,
      provider: this.model.provider,
      model: this.model.id,
      usage: emptyUsage,
      stopReason: "stop",
      timestamp: this.timestamp
    }
  }

  /** The finished message: plain values, and arguments read strictly. */
  finish(ending: Ending): AssistantMessage {
    this.blocks.forEach((block, index) => {
      if (block.isOpen) this.endBlock(index)
    })
    this.blocks.length = 0
    return {
      ...this.snapshot,
      usage: ending.usage ?? emptyUsage,
      stopReason: ending.stopReason,
      ...(ending.stopDetail && { stopDetail: ending.stopDetail }),
      ...(ending.errorMessage !== undefined && { errorMessage: ending.errorMessage }),
      ...(ending.error && { error: ending.error })
    }
  }

  /** Takes one event in, and gives what it did to the message; nothing for an event that changes no content. */
  fold(event: ProviderEvent): AssistantMessageEvent | undefined {
    switch (event.type) {
      case "text_delta":
      case "thinking_delta":
      case "toolcall_delta":
        return this.foldDelta(event)
      default:
        return types.has(event.type) ? this.foldOther(event) : undefined
    }
  }

  private foldOther(event: Exclude<ProviderEvent, Delta>): AssistantMessageEvent | undefined {
    const { type }: { readonly type: string } = event
    if (!isProviderEvent(event)) return this.fail(`${type} does not have the fields that it must have`)
    switch (event.type) {
      case "start":
        if (this.isStarted) return this.fail("it began twice")
        this.isStarted = true
        if (event.model !== undefined) this.model = copyPlain(event.model)
        return undefined
      case "done":
        this.done = copyPlain(event)
        return undefined
      case "text_start":
      case "thinking_start":
      case "toolcall_start":
      case "other":
        return this.foldStart(copyPlain(event))
      default:
        return this.foldEnd(copyPlain(event))
    }
  }

  private foldStart(
    event: Extract<ProviderEvent, { type: "text_start" | "thinking_start" | "toolcall_start" | "other" }>
  ): AssistantMessageEvent | undefined {
    const index = event.contentIndex
    if (index !== this.content.length) {
      return this.fail(`block ${index} began where block ${this.content.length} was due`)
    }
    switch (event.type) {
      case "text_start":
        this.addBlock({ type: "text", isOpen: true }, { type: "text", text: "" })
        return event
      case "thinking_start":
        this.addBlock(
          { type: "thinking", isOpen: true },
          {
            type: "thinking",
            thinking: event.redacted === true ? "[Reasoning redacted]" : "",
            ...(event.signature !== undefined && { thinkingSignature: event.signature }),
            ...(event.redacted === true && { redacted: true })
          }
        )
        return event
      case "toolcall_start": {
        const call = { type: "toolCall" as const, id: this.uniqueId(event.id), name: event.name }
        this.addBlock({ ...call, isOpen: true, text: new ArgumentText() }, { ...call, arguments: {} })
        return call.id === event.id ? event : { ...event, id: call.id }
      }
      case "other":
        this.addBlock(
          { type: "other", isOpen: false },
          { type: "other", provider: this.model.provider, data: event.data }
        )
        return event
    }
  }

  /** The hot path: no Schema, and a fresh event, since the provider may use its own again. */
  private foldDelta({ type, contentIndex, delta }: Delta): AssistantMessageEvent | undefined {
    const block = this.blocks[contentIndex]
    const content = this.content[contentIndex]
    const isValid = typeof contentIndex === "number" && typeof delta === "string" && block?.isOpen === true
    if (isValid && type === "text_delta" && content?.type === "text") {
      this.replace(contentIndex, { type: "text", text: content.text + delta })
    } else if (isValid && type === "thinking_delta" && content?.type === "thinking") {
      this.replace(contentIndex, { ...content, thinking: content.thinking + delta })
    } else if (isValid && type === "toolcall_delta" && block.type === "toolCall") {
      block.text.append(delta)
      this.replace(contentIndex, new PartialToolCall(block.id, block.name, block.text))
    } else return this.misplaced({ type, contentIndex })
    return { type, contentIndex, delta }
  }

  private foldEnd(
    event: Extract<ProviderEvent, { type: "text_end" | "thinking_end" | "toolcall_end" }>
  ): AssistantMessageEvent | undefined {
    const index = event.contentIndex
    if (this.blocks[index]?.isOpen !== true) return this.misplaced(event)
    const content = this.endBlock(index)
    if (event.type === "text_end" && content.type === "text") return { ...event, content: content.text }
    if (event.type === "toolcall_end" && content.type === "toolCall") return { ...event, toolCall: content }
    if (event.type !== "thinking_end" || content.type !== "thinking") return this.misplaced(event)
    if (event.signature !== undefined) this.replace(index, { ...content, thinkingSignature: event.signature })
    return { ...event, content: content.thinking }
  }

  private endBlock(index: number): AssistantContent {
    const block = this.blocks[index]!
    if (block.type !== "other") block.isOpen = false
    if (block.type === "toolCall") this.replace(index, finishCall(block.id, block.name, block.text.toString()))
    return this.content[index]!
  }

  private addBlock(block: Block, content: AssistantContent): void {
    this.blocks.push(block)
    this.content = [...this.content, content]
  }

  private replace(index: number, content: AssistantContent): void {
    this.content = this.content.length === 1 ? [content] : this.content.with(index, content)
  }

  private misplaced(event: { readonly type: string; readonly contentIndex: number }): undefined {
    return this.fail(`${event.type} came for block ${event.contentIndex}, which is not open for it`)
  }

  private fail(what: string): undefined {
    this.fault = `The provider's stream makes no sense: ${what}.`
  }
}
