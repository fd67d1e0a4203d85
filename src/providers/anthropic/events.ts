/**
 * The events of a response, as a provider tells them. The API's events are taken as they come, one after the other; those
 * that nobody knows change nothing, those that make no sense are a fault.
 *
 * Arguments of calls are passed on as text: whether they are whole and valid is for the loop to say.
 */
import { constUndefined } from "effect/Function"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type { Usage } from "../../Message.ts"
import type { Model, ProviderEvent } from "../../services/Provider.ts"
import { DeltaReader } from "./delta.ts"
import { endingOf } from "./ending.ts"
import { type TokenCost, UsageCount } from "./usage.ts"
import { textOf, type Wire, isWire, wireOf } from "./wire.ts"

/**
 * What ends a response before its end: an error that the server told, events that make no sense, or a refusal after calls
 * of tools.
 */
export type Fault =
  | { readonly _tag: "Told"; readonly body: unknown }
  | { readonly _tag: "Broken"; readonly what: string; readonly data?: string | undefined }
  | { readonly _tag: "Refused"; readonly why: string }

interface Block {
  readonly type: "text" | "thinking" | "toolCall" | "other"
  /** Its place in the message; a block that is told as a whole has none before its end. */
  readonly contentIndex: number
  readonly start: Wire
  /** What is not told before the end: a signature, or the input of a tool that nobody knows. */
  text: string
  isEmpty: boolean
}

export class ResponseEvents {
  /** Something came that is an event, be it a sign of life. */
  hasBegun = false
  /** The response is complete. Nothing comes after that. */
  isOver = false
  fault: Fault | undefined

  private isActive = false
  private isStarted = false
  private readonly tokens: UsageCount
  private readonly blocks = new Map<unknown, Block>()
  private blockCount = 0
  private hasCalls = false
  private stopReason: unknown
  private stopDetails: unknown
  private out: Array<ProviderEvent> = []
  /** The block that began last, and what reads its deltas. */
  private latest: Block | undefined
  private reader: DeltaReader | undefined

  private readonly model: Model | undefined

  /** `model` is the one that was asked. */
  constructor(costOf: TokenCost = constUndefined, model?: Model) {
    this.model = model
    this.tokens = new UsageCount(costOf)
  }

  /** What the response has cost so far, once the server has said anything of it. */
  get usage(): Usage | undefined {
    return this.isStarted ? this.tokens.sum : undefined
  }

  /** The events since they were last taken. */
  drain(): Array<ProviderEvent> {
    const { out } = this
    this.out = []
    return out
  }

  /** Whether something came since this was last asked that is more than a sign of life. */
  wasActive(): boolean {
    const { isActive } = this
    this.isActive = false
    return isActive
  }

  take(name: string, data: string): void {
    if (this.isOver || this.fault !== undefined) return
    const text = this.reader?.read(data)
    if (text !== undefined) return this.extend(this.latest!, text)
    const parsed = Result.try(() => JSON.parse(data) as unknown)
    const event = Result.isSuccess(parsed) && isWire(parsed.success) ? parsed.success : undefined
    if (name === "error" || event?.["type"] === "error") {
      this.fault = { _tag: "Told", body: event ?? data }
    } else if (event === undefined) {
      this.fail("an event is no JSON object", data)
    } else this.takeEvent(event)
  }

  private takeEvent(event: Wire): void {
    this.hasBegun = true
    if (event["type"] !== "ping") this.isActive = true
    switch (event["type"]) {
      case "content_block_delta":
        return this.change(this.blocks.get(event["index"]), event)
      case "content_block_start":
        return this.begin(event)
      case "content_block_stop":
        return this.end(this.blocks.get(event["index"]), event)
      case "message_start":
        return this.start(event)
      case "message_delta": {
        const delta = wireOf(event["delta"])
        this.stopReason = delta["stop_reason"] ?? this.stopReason
        this.stopDetails = delta["stop_details"] ?? this.stopDetails
        return this.tokens.add(event["usage"])
      }
      case "message_stop":
        return this.finish()
    }
  }

  private start(event: Wire): void {
    if (this.isStarted) return this.fail("the response began twice")
    this.isStarted = true
    this.tokens.add(wireOf(event["message"])["usage"])
    this.out.push({ type: "start", ...(this.model && { model: this.model }) })
  }

  private finish(): void {
    if (!this.isStarted) return this.fail("the response ended before it began")
    const ending = endingOf(this.stopReason, this.stopDetails, this.hasCalls)
    if ("refused" in ending) {
      this.fault = { _tag: "Refused", why: ending.refused }
      return
    }
    this.isOver = true
    this.out.push({ type: "done", ...ending, usage: this.tokens.sum })
  }

  // -------------------------------------------------------------------------------------------------------------------
  // Blocks
  // -------------------------------------------------------------------------------------------------------------------

  private begin(event: Wire): void {
    const start = wireOf(event["content_block"])
    if (!this.isStarted || this.blocks.has(event["index"])) return this.misplaced(event)
    const type = typeOf(start)
    const contentIndex = type === "other" ? -1 : this.blockCount++
    const block: Block = { type, contentIndex, start, text: textOf(start["signature"]), isEmpty: true }
    this.blocks.set(event["index"], block)
    this.latest = block
    this.reader = readerOf(block, event["index"])
    switch (start["type"]) {
      case "text":
        this.out.push({ type: "text_start", contentIndex })
        return this.extend(block, textOf(start["text"]))
      case "thinking":
        this.out.push({ type: "thinking_start", contentIndex })
        return this.extend(block, textOf(start["thinking"]))
      case "redacted_thinking":
        this.out.push({ type: "thinking_start", contentIndex, redacted: true, signature: textOf(start["data"]) })
        return
      case "tool_use":
        this.hasCalls = true
        this.out.push({
          type: "toolcall_start",
          contentIndex,
          id: textOf(start["id"]),
          name: textOf(start["name"])
        })
    }
  }

  private change(block: Block | undefined, event: Wire): void {
    if (block === undefined) return this.misplaced(event)
    const delta = wireOf(event["delta"])
    switch (delta["type"]) {
      case "text_delta":
        return this.changeAs("text", block, delta["text"], event)
      case "thinking_delta":
        return this.changeAs("thinking", block, delta["thinking"], event)
      case "input_json_delta":
        return this.changeAs("toolCall", block, delta["partial_json"], event)
      case "signature_delta":
        block.text += textOf(delta["signature"])
    }
  }

  /** Blocks that nobody knows may change in any way; for the others a change of another kind makes no sense. */
  private changeAs(type: Block["type"], block: Block, text: unknown, event: Wire): void {
    if (typeof text !== "string") return this.fail(`a ${wireOf(event["delta"])["type"]} has no text`)
    if (block.type === type) return this.extend(block, text)
    if (block.type !== "other") return this.misplaced(event)
    if (type === "toolCall") block.text += text
  }

  private extend(block: Block, delta: string): void {
    this.isActive = true
    if (delta === "" || block.type === "other") return
    block.isEmpty = false
    this.out.push({ type: told[block.type], contentIndex: block.contentIndex, delta })
  }

  private end(block: Block | undefined, event: Wire): void {
    if (block === undefined) return this.misplaced(event)
    this.blocks.delete(event["index"])
    if (block === this.latest) this.reader = undefined
    const { contentIndex, start } = block
    switch (block.type) {
      case "text":
        this.out.push({ type: "text_end", contentIndex })
        return
      case "thinking":
        this.out.push({ type: "thinking_end", contentIndex, ...(block.text !== "" && { signature: block.text }) })
        return
      case "toolCall":
        // Some servers give the arguments as a whole, with the start of the call.
        if (block.isEmpty && Object.keys(wireOf(start["input"])).length > 0) {
          this.extend(block, JSON.stringify(start["input"]))
        }
        this.out.push({ type: "toolcall_end", contentIndex })
        return
      case "other":
        this.out.push({ type: "other", contentIndex: this.blockCount++, data: wholeOf(block) })
    }
  }

  private misplaced(event: Wire): void {
    const delta = textOf(wireOf(event["delta"])["type"])
    this.fail(`${[event["type"], delta].filter(Boolean).join(" ")} came for block ${event["index"]} out of place`)
  }

  private fail(what: string, data?: string): void {
    this.fault = { _tag: "Broken", what, data }
  }
}

const deltas = {
  text: ["text_delta", "text"],
  thinking: ["thinking_delta", "thinking"],
  toolCall: ["input_json_delta", "partial_json"]
} as const

const told = { text: "text_delta", thinking: "thinking_delta", toolCall: "toolcall_delta" } as const

const readerOf = ({ type }: Block, index: unknown): DeltaReader | undefined => {
  if (type === "other") return undefined
  const [kind, member] = deltas[type]
  return new DeltaReader(index, kind, member)
}

const typeOf = ({ type }: Wire): Block["type"] => {
  switch (type) {
    case "text":
    case "thinking":
      return type
    case "redacted_thinking":
      return "thinking"
    case "tool_use":
      return "toolCall"
    default:
      return "other"
  }
}

/** A block of an unknown kind, with the input of its tool where that came in parts. */
const wholeOf = ({ start, text }: Block): Schema.Json => {
  const input = Result.try(() => JSON.parse(text) as unknown)
  return (text !== "" && Result.isSuccess(input) ? { ...start, input: input.success } : start) as Schema.Json
}
