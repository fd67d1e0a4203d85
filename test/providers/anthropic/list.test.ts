// The models that the API lists, and those of the table: what each can do, by whoever says it.
import type { Anthropic as Sdk } from "@anthropic-ai/sdk"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as TestClock from "effect/testing/TestClock"
// The package keeps this to itself; it is what it prints by.
import { DEPRECATED_MODELS } from "../../../node_modules/@anthropic-ai/sdk/internal/data/deprecated-models.mjs"
import * as Anthropic from "../../../src/providers/Anthropic.ts"
import { lookup, retirementOf } from "../../../src/providers/anthropic/models.ts"
import { read } from "./play.ts"
import { type Answer, fails, KEY, providerOf, replies, serve, serveWith, streams, type TestServer } from "./server.ts"
import { says } from "./wire.ts"

const yes = { supported: true }
const no = { supported: false }

/** A model as the API lists it. */
const model = (id: string, over: Partial<Sdk.ModelInfo> = {}): Sdk.ModelInfo => ({
  id,
  capabilities: null,
  created_at: "2026-10-01T00:00:00Z",
  deprecated_at: null,
  display_name: `Model ${id}`,
  lifecycle: "active",
  line: null,
  max_input_tokens: null,
  max_tokens: null,
  retires_at: null,
  type: "model",
  ...over
})

const capabilities = (
  thinking: ReadonlyArray<"adaptive" | "between_tools" | "disabled" | "enabled">,
  effort: ReadonlyArray<"low" | "medium" | "high" | "xhigh" | "max">,
  images: boolean
): Sdk.ModelCapabilities => {
  const supports = (isSupported: boolean) => (isSupported ? yes : no)
  const thinks = (type: (typeof thinking)[number]) => supports(thinking.includes(type))
  const takes = (level: (typeof effort)[number]) => supports(effort.includes(level))
  return {
    batch: yes,
    citations: yes,
    code_execution: no,
    context_management: {
      clear_thinking_20251015: null,
      clear_tool_uses_20250919: null,
      compact_20260112: null,
      supported: false
    },
    effort: {
      low: takes("low"),
      medium: takes("medium"),
      high: takes("high"),
      xhigh: takes("xhigh"),
      max: takes("max"),
      supported: effort.length > 0
    },
    image_input: supports(images),
    pdf_input: no,
    server_tools: { code_execution: no, supported: false, web_search: no },
    structured_outputs: yes,
    thinking: {
      supported: thinking.includes("adaptive") || thinking.includes("enabled"),
      types: {
        adaptive: thinks("adaptive"),
        between_tools: thinks("between_tools"),
        disabled: thinks("disabled"),
        enabled: thinks("enabled")
      }
    }
  }
}

const page = (data: ReadonlyArray<unknown>, next?: string) =>
  replies(200, { data, has_more: next !== undefined, first_id: null, last_id: next ?? null })

const ask = ({ url }: { readonly url: string }, options: Anthropic.Options = {}) =>
  Anthropic.models({ apiKey: Redacted.make(KEY), baseUrl: url, ...options })

describe("the list of the API", () => {
  it.live("says what each model can do", () =>
    Effect.gen(function* () {
      const server = yield* serve(
        page([
          model("claude-next-9", {
            max_input_tokens: 2_000_000,
            max_tokens: 256_000,
            capabilities: capabilities(["adaptive", "between_tools"], ["low", "high"], true)
          }),
          model("claude-old-1", {
            max_input_tokens: 100_000,
            max_tokens: 4_096,
            capabilities: capabilities(["disabled"], [], false),
            lifecycle: "deprecated",
            retires_at: "2027-03-01T00:00:00Z"
          }),
          model("claude-deep-2", { capabilities: capabilities(["enabled"], ["max"], true) })
        ])
      )
      const [next, old, deep] = yield* ask(server)
      expect(next).toMatchObject({ id: "claude-next-9", name: "Model claude-next-9", lifecycle: "active" })
      expect(next?.info).toEqual({
        contextWindow: 2_000_000,
        maxTokens: 256_000,
        images: true,
        thinking: "adaptive",
        thinkingOff: "between_tools",
        efforts: ["low", "high"],
        bindsThinking: false
      })
      expect(old).toMatchObject({ lifecycle: "deprecated", retiresAt: "2027-03-01T00:00:00Z" })
      expect(old?.info).toMatchObject({ maxTokens: 4_096, images: false, thinking: "none", thinkingOff: "disabled" })
      expect(deep?.info).toMatchObject({ thinking: "budget", thinkingOff: "never", efforts: ["max"] })
      expect(server.requests[0]).toMatchObject({
        path: "/v1/models?limit=1000",
        headers: { authorization: `Bearer ${KEY}` }
      })
    })
  )

  it.live("is as the table where it says nothing, and knows nothing where both do", () =>
    Effect.gen(function* () {
      const server = yield* serve(
        page([
          model("claude-haiku-4-5-20251001"),
          model("claude-opus-5-5", { max_tokens: 1 }),
          { id: "qwen3:8b", object: "model" },
          { id: 7 },
          null
        ])
      )
      const [haiku, opus, qwen, ...more] = yield* ask(server)
      expect(haiku?.info).toEqual(lookup("claude-haiku-4-5"))
      expect(opus?.info).toEqual({ ...lookup("claude-opus-5-5"), maxTokens: 1 })
      expect(qwen).toEqual({ id: "qwen3:8b" })
      expect(more).toEqual([])
    })
  )

  it.live("is read to its last page", () =>
    Effect.gen(function* () {
      const server = yield* serve(page([model("a"), model("b")], "b"), page([model("c")], "c"), page([]))
      expect((yield* ask(server)).map(({ id }) => id)).toEqual(["a", "b", "c"])
      expect(server.requests.map(({ path }) => path)).toEqual([
        "/v1/models?limit=1000",
        "/v1/models?limit=1000&after_id=b",
        "/v1/models?limit=1000&after_id=c"
      ])
    })
  )

  it.live("that never ends is left", () =>
    Effect.gen(function* () {
      const server = yield* serve(...Array.from({ length: 50 }, () => page([model("a")], "a")))
      expect((yield* ask(server)).length).toBe(20)
    })
  )

  it.live("serves requests as what is known of models", () =>
    Effect.gen(function* () {
      const server = yield* serve(page([model("mine", { max_tokens: 77 })]), streams(says("ok")))
      const models = yield* ask(server)
      const modelInfo = (id: string) => models.find((model) => model.id === id)?.info
      yield* read(yield* providerOf(server, { modelInfo }), { model: { id: "mine", provider: "anthropic" } })
      expect(server.requests[1]!.body.max_tokens).toBe(77)
    })
  )
})

describe("a model that nobody knows", () => {
  const next = { id: "claude-next-9", provider: "anthropic" }
  const pathsOf = ({ requests }: TestServer) => requests.map(({ path }) => path.replace(/\?.*/, ""))

  it.live("is as the API lists it, which is asked for once and with the key of the request", () =>
    Effect.gen(function* () {
      const listed = page([model(next.id, { max_tokens: 77_000, capabilities: capabilities(["enabled"], [], true) })])
      const server = yield* serveWith((_, { path }) => (path === "/v1/messages" ? streams(says("ok")) : listed))
      const provider = yield* providerOf(server, { apiKey: undefined })
      const ask = (id: string, key: string) =>
        read(provider, { model: { ...next, id }, thinkingLevel: "low", apiKey: Redacted.make(key) })
      yield* ask("claude-haiku-4-5", "first")
      yield* Effect.all([ask(next.id, "second"), ask(next.id, "third")], { concurrency: 2 })
      yield* ask("claude-another-9", "fourth")
      expect(pathsOf(server).toSorted()).toEqual([
        "/v1/messages",
        "/v1/messages",
        "/v1/messages",
        "/v1/messages",
        "/v1/models"
      ])
      expect(server.requests[1]).toMatchObject({ headers: { authorization: "Bearer second" } })
      const bodies = server.requests.flatMap(({ body }) => body ?? [])
      expect(bodies.map(({ model, max_tokens, thinking }) => [model, max_tokens, thinking.type])).toEqual([
        ["claude-haiku-4-5", 64_000, "enabled"],
        [next.id, 77_000, "enabled"],
        [next.id, 77_000, "enabled"],
        ["claude-another-9", 32_000, "adaptive"]
      ])
    })
  )

  it.live.each([
    ["refuses to tell", fails(500, "api_error", "no")],
    ["has none", replies(200, "<html>Sign in</html>", { "content-type": "text/html" })],
    ["hangs up", (response) => void response.socket?.destroy()]
  ] satisfies ReadonlyArray<[string, Answer]>)("is asked by what can be relied on where the API %s", ([, answer]) =>
    Effect.gen(function* () {
      const server = yield* serve(answer, streams(says("ok")), streams(says("ok")))
      const provider = yield* providerOf(server)
      for (const _ of [1, 2]) expect((yield* read(provider, { model: next })).error).toBeUndefined()
      expect(pathsOf(server)).toEqual(["/v1/models", "/v1/messages", "/v1/messages"])
      expect(server.requests[1]!.body.max_tokens).toBe(lookup(next.id).maxTokens)
    })
  )

  it.effect("does not wait for the list for more than three seconds", () =>
    Effect.gen(function* () {
      const server = yield* serve(() => {}, streams(says("ok")))
      const asking = yield* Effect.forkChild(read(yield* providerOf(server), { model: next }), {
        startImmediately: true
      })
      yield* server.asked(0)
      yield* TestClock.adjust("2999 millis")
      expect(server.requests.length).toBe(1)
      yield* TestClock.adjust("1 millis")
      expect((yield* Fiber.join(asking)).error).toBeUndefined()
      expect(yield* server.ended(0)).toBe("left")
    })
  )

  it.live("is asked for again where the first request was left meanwhile", () =>
    Effect.gen(function* () {
      const server = yield* serve(() => {}, page([model(next.id, { max_tokens: 77_000 })]), streams(says("ok")))
      const provider = yield* providerOf(server)
      const left = yield* Effect.forkChild(read(provider, { model: next }), { startImmediately: true })
      yield* server.asked(0)
      const waiting = yield* Effect.forkChild(read(provider, { model: next }), { startImmediately: true })
      yield* Fiber.interrupt(left)
      expect(yield* server.ended(0)).toBe("left")
      yield* Fiber.join(waiting)
      expect(server.requests[2]!.body.max_tokens).toBe(77_000)
    })
  )
})

describe("no list", () => {
  const failureOf = (answer: Parameters<typeof serveOne>[0], options?: Anthropic.Options) =>
    Effect.flatMap(serveOne(answer), (server) => Effect.flip(ask(server, options)))
  const serveOne = (answer: ReturnType<typeof fails>) => serve(answer)

  it.live("is a wrong key, told without it", () =>
    Effect.gen(function* () {
      const error = yield* failureOf(fails(401, "authentication_error", `no such key: ${KEY}`))
      expect(error).toMatchObject({ reason: "authentication", retryable: false })
      expect(error.message).not.toContain(KEY)
    })
  )

  it.live("is a network that breaks off in the middle of it", () =>
    Effect.gen(function* () {
      const half: Answer = (response) =>
        void response
          .writeHead(200, { "content-type": "application/json" })
          .write('{"data"', () => response.socket?.destroy())
      const error = yield* failureOf(half)
      expect(error).toMatchObject({ reason: "network", retryable: true })
      expect(error.message).toMatch(/^Cannot reach \S+ \(UND_ERR_SOCKET\)\. Check the network and the base URL\.$/)
    })
  )

  it.live.each([
    ["a page", replies(200, "<html>Sign in</html>", { "content-type": "text/html" })],
    ["nothing", replies(200, "")],
    ["JSON that is broken", replies(200, `{"data": ${KEY}`)],
    ["JSON of another kind", replies(200, { models: [] })]
  ] as const)("is %s in its place", ([, answer]) =>
    Effect.gen(function* () {
      const error = yield* failureOf(answer)
      expect(error.reason).toBe("notFound")
      expect(error.message).toMatch(/^\S+ has no list of models\. Check the base URL\.$/)
    })
  )

  it.effect("is a server that is silent for ten seconds", () =>
    Effect.gen(function* () {
      const server = yield* serve(() => {})
      const asking = yield* Effect.forkChild(Effect.result(ask(server)), { startImmediately: true })
      yield* server.asked(0)
      yield* TestClock.adjust("9 seconds")
      expect(asking.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust("1 second")
      const result = yield* Fiber.join(asking)
      expect(Result.isFailure(result) && result.failure.reason).toBe("network")
      expect(yield* server.ended(0)).toBe("left")
    })
  )
})

describe("the table", () => {
  it("names models, what they can do, and those that are to go", () => {
    expect(Anthropic.modelTable.length).toBeGreaterThan(10)
    for (const { id, info } of Anthropic.modelTable) expect(info).toEqual(lookup(id))
    expect(Anthropic.modelTable.filter(({ lifecycle }) => lifecycle === "deprecated").map(({ id }) => id)).toEqual([
      "claude-mythos-preview",
      "claude-opus-4-5",
      "claude-sonnet-4-5"
    ])
  })

  it("has the last days that the SDK has", () => {
    const dayOf = (text: string) =>
      new Date(`${text.replace(/(?<=\d)(st|nd|rd|th)/, "")} UTC`).toISOString().slice(0, 10)
    const days = Object.entries(DEPRECATED_MODELS).map(([id, day]) => [id, dayOf(day)])
    expect(days.length).toBeGreaterThan(0)
    expect(days.map(([id]) => [id, retirementOf(id!)])).toEqual(days)
    for (const { id, retiresAt } of Anthropic.modelTable) {
      expect(retiresAt !== undefined).toBe(id in DEPRECATED_MODELS)
    }
    expect(retirementOf("claude-opus-5-5")).toBeUndefined()
  })
})
