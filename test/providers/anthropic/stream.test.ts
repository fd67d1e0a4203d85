// What a response over the network is worth, however it arrives and whatever is wrong with it. Each of the streams that the
// SDK takes for good, or dies of in a way of its own, ends here as what it is.
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type { ServerResponse } from "node:http"
import { tool } from "../../support/make.ts"
import { of } from "../../support/play.ts"
import { model, play, read } from "./play.ts"
import { violationsOf } from "./rules.ts"
import { type Answer, breaks, dribbles, fails, providerOf, replies, serve, stalls, streams } from "./server.ts"
import * as wire from "./wire.ts"
import { says, sse } from "./wire.ts"

const bytesOf = (text: string) => [...Buffer.from(text)].map((byte) => Uint8Array.of(byte))

/** The text of a response. */
const textOf = (events: ReadonlyArray<{ readonly type: string }>) =>
  events.map((event) => ("delta" in event ? event.delta : "")).join("")

/** A response that the test goes on with after its beginning. */
const held = (beginning: string) =>
  Effect.sync(() => {
    let held: ServerResponse
    const answer: Answer = (response) => {
      held = response
      stalls(beginning)(response)
    }
    return { answer, response: () => held }
  })

describe("a response", () => {
  it.live("is told event by event, in one array for each read", () =>
    Effect.gen(function* () {
      const server = yield* serve(streams(says("Hel", "lo")))
      const { arrays, error } = yield* read(yield* providerOf(server))
      expect(error).toBeUndefined()
      expect(arrays).toEqual([
        [
          { type: "start", model },
          { type: "text_start", contentIndex: 0 },
          { type: "text_delta", contentIndex: 0, delta: "Hel" },
          { type: "text_delta", contentIndex: 0, delta: "lo" },
          { type: "text_end", contentIndex: 0 },
          {
            type: "done",
            reason: "stop",
            usage: expect.objectContaining({ input: 10, output: 5, cacheRead: 0, cacheWrite: 0, totalTokens: 15 })
          }
        ]
      ])
    })
  )

  it.live("arrives whole when each byte comes by itself, with a character in four of them", () =>
    Effect.gen(function* () {
      const server = yield* serve(dribbles(bytesOf(says("naïve ", "🦊 und ", "日本語"))))
      const { arrays, events, error } = yield* read(yield* providerOf(server))
      expect(error).toBeUndefined()
      expect(textOf(events)).toBe("naïve 🦊 und 日本語")
      expect(arrays.length).toBeGreaterThan(5)
    })
  )

  it.live.each([
    { name: "CRLF", change: (text: string) => text.replaceAll("\n", "\r\n") },
    { name: "CR", change: (text: string) => text.replaceAll("\n", "\r") },
    { name: "a byte order mark", change: (text: string) => `\ufeff${text}` },
    { name: "comments and ids", change: (text: string) => text.replaceAll("event:", ": hi\nid: 1\nretry: 5\nevent:") },
    { name: "pings", change: (text: string) => text.replaceAll("event: c", `${sse(wire.ping)}event: c`) },
    { name: "no names of events", change: (text: string) => text.replaceAll(/^event:.*\n/gm, "") }
  ])("is the same with $name", ({ change }) =>
    Effect.gen(function* () {
      const server = yield* serve(streams(change(says("Hello"))), streams(says("Hello")))
      const provider = yield* providerOf(server)
      const changed = yield* read(provider)
      const plain = yield* read(provider)
      expect(changed).toEqual(plain)
    })
  )

  it.live("leaves its connection to the next request, also when its body ends after its last event", () =>
    Effect.gen(function* () {
      const late = yield* held(says("1"))
      const server = yield* serve(late.answer, streams(says("2")))
      const provider = yield* providerOf(server)
      yield* read(provider)
      // If the first connection had been closed, the server would know it by now.
      yield* read(provider)
      expect(late.response().closed).toBe(false)
      late.response().end()
      expect(yield* server.ended(0)).toBe("whole")
    })
  )

  it.live("does not wait long for the end of a body, and not at all if something else comes", () =>
    Effect.gen(function* () {
      const late = yield* held(says("2"))
      const server = yield* serve(stalls(says("1")), late.answer)
      const provider = yield* providerOf(server)
      expect((yield* read(provider)).error).toBeUndefined()
      expect((yield* read(provider)).error).toBeUndefined()
      late.response().write(sse(wire.ping))
      const first = yield* Effect.race(Effect.as(server.ended(0), 0), Effect.as(server.ended(1), 1))
      expect(first).toBe(1)
      expect([yield* server.ended(0), yield* server.ended(1)]).toEqual(["left", "left"])
    })
  )

  it.live("has the unknown in it ignored: an event, a delta, a reason to stop", () =>
    Effect.gen(function* () {
      const body = sse(
        wire.start(),
        { type: "weather_report", sky: "blue" },
        wire.begin(0, { type: "text", text: "a" }),
        wire.delta(0, { type: "mood_delta", mood: "good" }),
        wire.delta(0, { type: "text_delta", text: "b" }),
        wire.end(0),
        wire.halt("bored"),
        wire.stop
      )
      const server = yield* serve(streams(body))
      const { responses, reason } = yield* play(yield* providerOf(server))
      expect(reason).toBe("completed")
      expect(responses[0]).toMatchObject({
        content: [{ type: "text", text: "ab" }],
        stopReason: "stop",
        stopDetail: { type: "bored" }
      })
    })
  )
})

/** A stream of events that goes on with one line for as long as the client takes it. */
const endless: Answer = (response) => {
  const piece = "x".repeat(1024 * 1024)
  const write = (error?: Error | null) => void (!error && response.write(piece, write))
  response.writeHead(200, { "content-type": "text/event-stream" }).write(`${sse(wire.start())}data: `, write)
}

it.live("an event that has no end is left, before it fills the memory", () =>
  Effect.gen(function* () {
    const server = yield* serve(endless)
    const { error } = yield* read(yield* providerOf(server))
    expect(error).toMatchObject({ reason: "brokenStream", message: "An event of the response has no end." })
    expect(yield* server.ended(0)).toBe("left")
  })
)

describe("a broken stream", () => {
  const broken = [
    {
      name: "an error event in mid-stream",
      answer: streams(
        sse(wire.start(), ...wire.text(0, "par"), {
          type: "error",
          error: { type: "overloaded_error", message: "Overloaded" }
        })
      ),
      error: { reason: "overloaded", retryable: true, message: "The API answered: Overloaded (overloaded_error)." },
      text: "par"
    },
    {
      name: "an error event that is no JSON",
      answer: streams(`${sse(wire.start())}event: error\ndata: out of order\n\n`),
      error: { reason: "internal", retryable: true, message: "The API answered: out of order." }
    },
    {
      name: "a connection that is cut",
      answer: breaks(
        sse(wire.start(), wire.begin(0, { type: "text", text: "" }), wire.delta(0, { type: "text_delta", text: "par" }))
      ),
      error: {
        reason: "brokenStream",
        retryable: true,
        message: expect.stringMatching(/^The connection to http.* broke during the response\.$/)
      },
      text: "par"
    },
    {
      name: "an end without the last event",
      answer: streams(sse(wire.start(), ...wire.text(0, "par"), wire.halt("end_turn"))),
      error: {
        reason: "brokenStream",
        retryable: true,
        message: "The response broke off: its stream ended before its last event."
      },
      text: "par"
    },
    {
      name: "an end in the middle of an event",
      answer: streams(says("par").slice(0, -1)),
      error: {
        reason: "brokenStream",
        retryable: true,
        message: "The response broke off: its stream ended before its last event."
      },
      text: "par"
    },
    {
      name: "an empty body",
      answer: streams(""),
      error: { reason: "brokenStream", retryable: true, message: "The response is empty." }
    },
    {
      name: "nothing but pings",
      answer: streams(sse(wire.ping, wire.ping)),
      error: {
        reason: "brokenStream",
        retryable: true,
        message: "The response broke off: its stream ended before its last event."
      }
    },
    {
      name: "a login page with the status 200",
      answer: replies(200, "<html><title>Log in</title></html>", { "content-type": "text/html; charset=utf-8" }),
      error: {
        reason: "brokenStream",
        retryable: false,
        message: expect.stringMatching(
          /^http.* answered with text\/html; charset=utf-8, not with a response of a model\. Check the base URL\.$/
        )
      }
    },
    {
      name: "a login page that says it is a stream",
      answer: streams("<html><title>Log in</title></html>"),
      error: {
        reason: "brokenStream",
        retryable: false,
        message: expect.stringContaining('"<html><title>Log in</title></html>"')
      }
    },
    {
      name: "a JSON document in place of a stream",
      answer: replies(200, { type: "message", content: [] }),
      error: { reason: "brokenStream", retryable: false, message: expect.stringContaining("application/json") }
    },
    {
      name: "an error with the status 200",
      answer: fails(200, "rate_limit_error", "slow down", { "retry-after": "2" }),
      error: { reason: "rateLimit", retryable: true, retryAfterMs: 2_000 }
    },
    {
      name: "an event that is no JSON",
      answer: streams(`${sse(wire.start())}event: content_block_delta\ndata: {"type":"content_blo\n\n`),
      error: {
        reason: "brokenStream",
        retryable: true,
        message: 'The response makes no sense: an event is no JSON object: {"type":"content_blo.'
      }
    },
    {
      name: "a delta before its block",
      answer: streams(sse(wire.start(), wire.delta(3, { type: "text_delta", text: "x" }))),
      error: {
        reason: "brokenStream",
        retryable: true,
        message: "The response makes no sense: content_block_delta text_delta came for block 3 out of place."
      }
    },
    {
      name: "a delta of another kind than its block",
      answer: streams(
        sse(
          wire.start(),
          wire.begin(0, { type: "text", text: "" }),
          wire.delta(0, { type: "thinking_delta", thinking: "x" })
        )
      ),
      error: { reason: "brokenStream", retryable: true },
      text: ""
    },
    {
      name: "a delta without a text",
      answer: streams(
        sse(wire.start(), wire.begin(0, { type: "text", text: "" }), wire.delta(0, { type: "text_delta" }))
      ),
      error: { reason: "brokenStream", message: "The response makes no sense: a text_delta has no text." },
      text: ""
    },
    {
      name: "the end of a block that never began",
      answer: streams(sse(wire.start(), wire.end(0))),
      error: { reason: "brokenStream", retryable: true }
    },
    {
      name: "a block before the response",
      answer: streams(sse(...wire.text(0, "x"))),
      error: { reason: "brokenStream", retryable: true }
    },
    {
      name: "a response that begins twice",
      answer: streams(sse(wire.start(), wire.start())),
      error: { reason: "brokenStream", message: "The response makes no sense: the response began twice." }
    },
    {
      name: "a last event alone",
      answer: streams(sse(wire.stop)),
      error: { reason: "brokenStream", message: "The response makes no sense: the response ended before it began." }
    }
  ]

  it.live.each(broken)("fails as what it is, and keeps what had arrived: $name", ({ answer, error, text }) =>
    Effect.gen(function* () {
      const server = yield* serve(answer, answer)
      const provider = yield* providerOf(server)
      expect((yield* read(provider)).error).toMatchObject(error)
      const { responses, reason } = yield* play(provider)
      expect(reason).toBe("error")
      expect(responses[0]?.content ?? []).toEqual(text === undefined ? [] : [{ type: "text", text }])
      expect(server.requests.length).toBe(2)
    })
  )

  it.live("tells what it has cost", () =>
    Effect.gen(function* () {
      const usage = { input_tokens: 7, output_tokens: 1, cache_read_input_tokens: 100, cache_creation_input_tokens: 20 }
      const server = yield* serve(breaks(sse(wire.start(usage), ...wire.text(0, "par"))))
      const { error } = yield* read(yield* providerOf(server))
      expect(error?.usage).toMatchObject({ input: 7, output: 1, cacheRead: 100, cacheWrite: 20, totalTokens: 128 })
      expect(error?.usage?.cost?.total).toBeCloseTo((7 * 3 + 1 * 15 + 100 * 0.3 + 20 * 3.75) / 1e6, 12)
    })
  )

  it.live("knows the cost in dollars of what it has a price for, all attempts of a run counted", () =>
    Effect.gen(function* () {
      const usage = {
        input_tokens: 1_000,
        output_tokens: 0,
        cache_creation_input_tokens: 100,
        cache_creation: { ephemeral_5m_input_tokens: 60, ephemeral_1h_input_tokens: 40 }
      }
      const failed = breaks(sse(wire.start(usage), ...wire.text(0, "par")))
      const done = streams(sse(wire.start(usage), wire.halt("end_turn", {}, { output_tokens: 200 }), wire.stop))
      const input = (1_000 * 3 + 60 * 3.75 + 40 * 6) / 1e6
      const retry = Schedule.spaced(0)
      const noList = replies(404, "")
      const known = yield* play(yield* providerOf(yield* serve(failed, done)), { retry })
      const [end] = of(known, "agent_end")
      expect(end?.usage).toMatchObject({ input: 2_000, output: 200, cacheWrite: 200, totalTokens: 2_400 })
      expect(end?.usage.cost?.total).toBeCloseTo(2 * input + (200 * 15) / 1e6, 12)
      const unknown = yield* play(yield* providerOf(yield* serve(noList, failed, done)), {
        retry,
        model: { provider: "anthropic", id: "qwen3:8b" }
      })
      expect(of(unknown, "agent_end")[0]?.usage).toEqual({
        input: 2_000,
        output: 200,
        cacheRead: 0,
        cacheWrite: 200,
        totalTokens: 2_400
      })
    })
  )

  it.live.each(["tool_use", "max_tokens"])("runs no call whose arguments are not whole, and goes on: %s", (reason) =>
    Effect.gen(function* () {
      const chunks = ['{"path":"a.txt",', '"content":"li']
      const cut = sse(wire.start(), ...wire.call(0, "write", "toolu_1", ...chunks), wire.halt(reason), wire.stop)
      const server = yield* serve(streams(cut), streams(says("sorry")))
      let executed = 0
      const write = tool("write", () => Effect.sync(() => `${executed++}`))
      const played = yield* play(yield* providerOf(server), { tools: [write] })
      expect(executed).toBe(0)
      expect(played.responses[0]!.content[0]).toMatchObject({ rawArguments: chunks.join("") })
      expect(played.results[0]).toMatchObject({ isError: true })
      expect(played.reason).toBe("completed")
      expect(violationsOf(server.requests[1]!.body)).toEqual([])
      expect(server.requests[1]!.body.messages[1].content).toEqual([
        { type: "tool_use", id: "toolu_1", name: "write", input: { path: "a.txt", content: "li" } }
      ])
    })
  )
})
