import { describe, expect, it } from "@effect/vitest"
import type { AgentEvent, ToolResult } from "../../src/AgentEvent.ts"
import { encode, format, MAX_DEPTH } from "../../src/cli/json.ts"
import { emptyUsage, type AssistantMessage } from "../../src/Message.ts"

const message: AssistantMessage = {
  role: "assistant",
  content: [{ type: "text", text: "Hello" }],
  provider: "p",
  model: "m",
  usage: emptyUsage,
  stopReason: "stop",
  timestamp: 1
}

const update: AgentEvent = {
  type: "message_update",
  message,
  assistantMessageEvent: { type: "text_delta", contentIndex: 0, delta: "lo" }
}

const toolEnd = (details: unknown): AgentEvent => ({
  type: "tool_execution_end",
  toolCallId: "1",
  toolName: "t",
  result: { content: [], details } as unknown as ToolResult,
  isError: false
})

const textOf = (event: AgentEvent, fullUpdates = false) => {
  const [, writes] = format({ fullUpdates }).step(undefined, event)
  expect(writes.map(({ to }) => to)).toEqual(["stdout"])
  return writes[0]!.text
}

/** Checks that an event is one line of JSON, and reads it. */
const lineOf = (event: AgentEvent, fullUpdates = false): unknown => {
  const text = textOf(event, fullUpdates)
  expect(text.indexOf("\n")).toBe(text.length - 1)
  return JSON.parse(text)
}

const detailsOf = (details: unknown) => (lineOf(toolEnd(details)) as { result: ToolResult }).result.details

describe("lines", () => {
  it("an event is one line of JSON", () => {
    const event: AgentEvent = {
      type: "message_end",
      message: { ...message, content: [{ type: "text", text: "a\nb\r\u2028" }] }
    }
    expect(lineOf(event)).toEqual(event)
  })

  it("an update has what was added, and not the message", () => {
    expect(lineOf(update)).toEqual({ type: "message_update", assistantMessageEvent: update.assistantMessageEvent })
  })

  it("an update does not even read the message, which may be costly", () => {
    const lazy: AgentEvent = Object.defineProperty({ ...update }, "message", {
      get: () => expect.fail("the message was read")
    })
    lineOf(lazy)
  })

  it("an update has the message where full updates are asked for", () => {
    expect(lineOf(update, true)).toEqual(update)
  })

  it("a line does nothing to a terminal", () => {
    const text = textOf(toolEnd("\x1b]0;x\x07\x7f\x9b2J\x85\u202e\u2029"))
    expect(text.slice(0, -1)).toMatch(/^[ -~]*$/)
  })
})

describe("values beyond JSON", () => {
  it("a bigint is its digits, and the rest of the event stays", () => {
    expect(lineOf(toolEnd({ size: 2n ** 64n, name: "x" }))).toEqual({
      ...toolEnd({ size: "18446744073709551616", name: "x" })
    })
  })

  it("a cycle ends where it begins anew", () => {
    const details: Record<string, unknown> = { name: "x" }
    details["self"] = [details]
    expect(detailsOf(details)).toEqual({ name: "x", self: ["[not JSON: it contains itself]"] })
  })

  it("what occurs twice without a cycle is there twice", () => {
    const shared = { a: 1 }
    expect(detailsOf({ big: 1n, left: shared, right: [shared, shared] })).toEqual({
      big: "1",
      left: shared,
      right: [shared, shared]
    })
  })

  it("a getter or toJSON that throws is replaced by what it says", () => {
    const details = {
      get bad() {
        throw new Error("no such column")
      },
      worse: {
        toJSON() {
          throw "closed"
        }
      },
      good: 1
    }
    expect(detailsOf(details)).toEqual({ bad: "[not JSON: no such column]", worse: "[not JSON: closed]", good: 1 })
  })

  it("toJSON is used where it works", () => {
    expect(detailsOf({ big: 1n, at: new Date(0) })).toEqual({ big: "1", at: "1970-01-01T00:00:00.000Z" })
  })

  it("a toJSON that gives itself is a cycle", () => {
    const details = {
      toJSON() {
        return [this, 1n]
      }
    }
    expect(detailsOf(details)).toEqual(["[not JSON: it contains itself]", "1"])
  })

  it("what is nested beyond what can be encoded is cut at a depth", () => {
    let details: unknown = "bottom"
    for (let depth = 0; depth < 100_000; depth++) details = [details]
    let value: unknown = detailsOf(details)
    let depth = 0
    for (; Array.isArray(value); depth++) value = value[0]
    expect(value).toBe("[not JSON: it is nested too deep]")
    // The event and its result are two of the levels.
    expect(depth).toBe(MAX_DEPTH - 2)
  })

  it("an object that cannot be looked into is replaced as a whole", () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    expect(detailsOf({ proxy, good: 1 })).toEqual({ proxy: expect.stringMatching(/^\[not JSON: .*revoked/), good: 1 })
  })

  it("lone surrogates and -0, NaN, undefined and functions are as JSON has them", () => {
    expect(encode(["\ud800", -0, Number.NaN, undefined, () => 1])).toBe('["\\ud800",0,null,null,null]')
  })

  it("a value that is none at all is null", () => {
    expect(encode(undefined)).toBe("null")
    expect(encode(Symbol.iterator)).toBe("null")
  })
})
