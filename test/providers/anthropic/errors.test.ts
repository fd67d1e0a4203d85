// What the API, the network and the SDK can answer instead of a response, each over a real connection: why it failed,
// whether asking again can help, when, and what a person reads.
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/testing/TestClock"
import { createServer } from "node:net"
import type { AddressInfo } from "node:net"
import { inspect } from "node:util"
import type { ProviderErrorReason } from "../../../src/services/Provider.ts"
import { play, read } from "./play.ts"
import { type Answer, fails, KEY, providerOf, replies, serve, streams } from "./server.ts"
import { call, halt, says, sse, start, stop, text } from "./wire.ts"

interface Case {
  readonly status: number
  readonly type?: string
  readonly message?: string
  readonly code?: string
  readonly headers?: Record<string, string>
  readonly reason: ProviderErrorReason
  readonly retryable: boolean
}

const cases: ReadonlyArray<Case> = [
  { status: 400, type: "invalid_request_error", reason: "invalidRequest", retryable: false },
  { status: 401, type: "authentication_error", reason: "authentication", retryable: false },
  { status: 402, type: "billing_error", reason: "quota", retryable: false },
  { status: 403, type: "permission_error", reason: "permission", retryable: false },
  { status: 404, type: "not_found_error", reason: "notFound", retryable: false },
  { status: 408, type: "invalid_request_error", reason: "internal", retryable: true },
  { status: 409, type: "conflict_error", reason: "internal", retryable: true },
  { status: 413, type: "request_too_large", reason: "contextWindow", retryable: false },
  { status: 413, type: "invalid_request_error", reason: "contextWindow", retryable: false },
  { status: 422, type: "invalid_request_error", reason: "invalidRequest", retryable: false },
  { status: 429, type: "rate_limit_error", reason: "rateLimit", retryable: true },
  { status: 500, type: "api_error", reason: "internal", retryable: true },
  { status: 503, type: "api_error", reason: "overloaded", retryable: true },
  { status: 504, type: "timeout_error", reason: "internal", retryable: true },
  { status: 529, type: "overloaded_error", reason: "overloaded", retryable: true },
  // The code of an error says more than its type.
  { status: 429, type: "rate_limit_error", code: "contract_spend_limit_reached", reason: "quota", retryable: false },
  { status: 429, type: "rate_limit_error", code: "enforced_spend_limit_reached", reason: "quota", retryable: false },
  { status: 429, type: "rate_limit_error", code: "ramp_limit_exceeded", reason: "rateLimit", retryable: true },
  { status: 400, type: "invalid_request_error", code: "organization_on_hold", reason: "permission", retryable: false },
  {
    status: 400,
    type: "invalid_request_error",
    code: "image_dimensions_too_large",
    reason: "invalidRequest",
    retryable: false
  },
  // A type says more than a status, also where a gateway changes that.
  { status: 400, type: "overloaded_error", reason: "overloaded", retryable: true },
  { status: 500, type: "authentication_error", reason: "authentication", retryable: false },
  // Servers with types of their own.
  { status: 400, type: "BadRequestError", reason: "invalidRequest", retryable: false },
  { status: 404, type: "api_error", reason: "notFound", retryable: false },
  { status: 400, type: "exceed_context_size_error", reason: "contextWindow", retryable: false },
  { status: 418, type: "teapot", reason: "invalidRequest", retryable: false },
  // One code for different things: the words decide.
  {
    status: 400,
    type: "invalid_request_error",
    message: "prompt is too long: 209323 tokens > 200000 maximum",
    reason: "contextWindow",
    retryable: false
  },
  {
    status: 400,
    type: "invalid_request_error",
    message: "Your credit balance is too low to access the Anthropic API.",
    reason: "quota",
    retryable: false
  },
  {
    status: 400,
    type: "invalid_request_error",
    message: "Output blocked by content filtering policy",
    reason: "contentRefused",
    retryable: false
  },
  // But not where a code has told it.
  { status: 429, type: "rate_limit_error", message: "prompt is too long", reason: "rateLimit", retryable: true },
  {
    status: 401,
    type: "authentication_error",
    message: "credit balance is too low",
    reason: "authentication",
    retryable: false
  },
  // The server knows best.
  {
    status: 429,
    type: "rate_limit_error",
    headers: { "x-should-retry": "false" },
    reason: "rateLimit",
    retryable: false
  },
  {
    status: 400,
    type: "invalid_request_error",
    headers: { "x-should-retry": "true" },
    reason: "invalidRequest",
    retryable: true
  }
]

describe("an answer of the API", () => {
  it.live("is told apart by its code, else its type, else its status", () =>
    Effect.gen(function* () {
      const server = yield* serve(
        ...cases.map(({ status, type, message = "told", code, headers }) =>
          replies(
            status,
            { type: "error", error: { type, message, ...(code !== undefined && { details: { error_code: code } }) } },
            headers
          )
        )
      )
      const provider = yield* providerOf(server)
      for (const { status, type, message = "told", reason, retryable } of cases) {
        const { error } = yield* read(provider)
        expect({ status, type, reason: error?.reason, retryable: error?.retryable }).toEqual({
          status,
          type,
          reason,
          retryable
        })
        expect(error?.message).toContain(`The API answered: ${message.replace(/\.$/, "")} (${status} ${type}).`)
      }
      // Nothing is asked for twice.
      expect(server.requests.length).toBe(cases.length)
    })
  )

  it.live("says what to do, and by which name the API knows the request", () =>
    Effect.gen(function* () {
      const server = yield* serve(
        fails(401, "authentication_error", "invalid x-api-key", { "request-id": "req_header" }),
        fails(404, "not_found_error", "model: claude-9"),
        fails(529, "overloaded_error", "Overloaded")
      )
      const provider = yield* providerOf(server)
      const messages = [yield* read(provider), yield* read(provider), yield* read(provider)].map(
        ({ error }) => error?.message
      )
      expect(messages).toEqual([
        "The API answered: invalid x-api-key (401 authentication_error) [request req_header]. Check the API key.",
        "The API answered: model: claude-9 (404 not_found_error) [request req_body]. Check the name of the model, and the base URL.",
        "The API answered: Overloaded (529 overloaded_error) [request req_body]."
      ])
    })
  )

  it.live("that is a page is read as words", () =>
    Effect.gen(function* () {
      const page =
        "<html><head><style>p{}</style><title>x</title></head><body><h1>Bad Gateway</h1>\n<p>nginx</p></body></html>"
      const server = yield* serve(replies(502, page, { "content-type": "text/html" }), replies(500, ""))
      const provider = yield* providerOf(server)
      expect((yield* read(provider)).error).toMatchObject({
        reason: "internal",
        retryable: true,
        message: "The API answered: Bad Gateway nginx (502)."
      })
      expect((yield* read(provider)).error).toMatchObject({
        message: "The API answered: status code (no body) (500)."
      })
    })
  )
})

describe("how long to wait", () => {
  const now = Date.parse("2026-11-30T12:00:00Z")
  it.effect("is told in all forms of Retry-After, and by nothing that is none", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(now)
      const forms: ReadonlyArray<readonly [Record<string, string>, number | undefined]> = [
        [{ "retry-after": "7" }, 7_000],
        [{ "retry-after": "0.25" }, 250],
        [{ "retry-after-ms": "50" }, 50],
        [{ "retry-after-ms": "50", "retry-after": "7" }, 50],
        [{ "retry-after-ms": "soon", "retry-after": "7" }, 7_000],
        [{ "retry-after": "Mon, 30 Nov 2026 12:01:30 GMT" }, 90_000],
        [{ "retry-after": "Monday, 30-Nov-26 12:00:10 GMT" }, 10_000],
        [{ "retry-after": "Mon Nov 30 12:00:05 2026" }, 5_000],
        [{ "retry-after": "Mon, 30 Nov 2026 11:59:59 GMT" }, undefined],
        [{ "retry-after": "-3" }, undefined],
        [{ "retry-after": "0" }, undefined],
        [{ "retry-after": "tomorrow 2099" }, undefined],
        [{ "retry-after": "mon, whenever" }, undefined],
        [{ "retry-after": "" }, undefined],
        [{}, undefined]
      ]
      const server = yield* serve(...forms.map(([headers]) => fails(429, "rate_limit_error", "slow down", headers)))
      const provider = yield* providerOf(server)
      for (const [headers, ms] of forms) {
        const { error } = yield* read(provider)
        expect([headers, error?.retryAfterMs]).toEqual([headers, ms])
      }
    })
  )
})

describe("without an answer", () => {
  it.live("the network is to blame, in one sentence", () =>
    Effect.gen(function* () {
      const port = yield* Effect.callback<number>((resume) => {
        const unused = createServer().listen(0, "127.0.0.1", () => {
          const { port } = unused.address() as AddressInfo
          unused.close(() => resume(Effect.succeed(port)))
        })
      })
      const url = `http://127.0.0.1:${port}`
      expect((yield* read(yield* providerOf({ url }))).error).toMatchObject({
        reason: "network",
        retryable: true,
        message: `Cannot reach ${url} (ECONNREFUSED). Check the network and the base URL.`
      })
      const unknown = "http://no-such-host.invalid"
      const { error } = yield* read(yield* providerOf({ url: unknown }))
      expect(error).toMatchObject({ reason: "network", retryable: true })
      expect(error?.message).toMatch(/^Cannot reach http:\/\/no-such-host\.invalid \((ENOTFOUND|EAI_AGAIN)\)\. /)
    })
  )

  it.live("a server that hangs up at once is the network too", () =>
    Effect.gen(function* () {
      const server = yield* serve((response) => void response.socket?.destroy())
      expect((yield* read(yield* providerOf(server))).error).toMatchObject({ reason: "network", retryable: true })
    })
  )

  it.live("there was no request if it could not be sent", () =>
    Effect.gen(function* () {
      const server = yield* serve(streams(says("never")))
      const unsendable = [
        { url: "not a url", message: "The base URL is not a URL that begins with http:// or https://." },
        { url: "ftp://x", message: "The base URL is not a URL that begins with http:// or https://." },
        { url: server.url.replace("//", "//me:secret@"), message: /must not have a user name and a password/ },
        { url: `${server.url}/?key=secret`, message: /must not have a query \(\?\) or a fragment/ },
        { url: `${server.url}#secret`, message: /must not have a query \(\?\) or a fragment/ },
        { options: { headers: { "x-a": "a\nb" } }, message: 'The header "x-a" has characters that cannot be sent.' },
        { options: { headers: { "x a": "b" } }, message: 'The header "x a" has characters that cannot be sent.' },
        { options: { apiKey: Redacted.make("sk-\n-1") }, message: /^The API key has characters that cannot be sent/ }
      ]
      for (const { url, options, message } of unsendable) {
        const { error } = yield* read(yield* providerOf({ url: url ?? server.url }, options))
        expect(error?.retryable).toBe(false)
        expect(error?.message).toMatch(message)
        expect(error?.message).not.toContain("secret")
      }
      const { error } = yield* read(yield* providerOf(server), { messages: [] })
      expect(error).toMatchObject({
        reason: "invalidRequest",
        message: expect.stringContaining("nothing to ask the model")
      })
      expect(server.requests).toEqual([])
    })
  )
})

describe("a key", () => {
  it.live("is sent as a bearer token; that of the run comes first", () =>
    Effect.gen(function* () {
      const server = yield* serve(...Array.from({ length: 4 }, () => streams(says("ok"))))
      const provider = yield* providerOf(server)
      yield* read(provider)
      yield* read(provider, { apiKey: Redacted.make("  of-the-run\n") })
      yield* read(provider, { apiKey: Redacted.make("") })
      yield* read(yield* providerOf(server, { apiKey: undefined }))
      expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([
        `Bearer ${KEY}`,
        "Bearer of-the-run",
        undefined,
        undefined
      ])
      expect(server.requests.every(({ path }) => path === "/v1/messages")).toBe(true)
    })
  )

  it.live("is missed before anything is sent to Anthropic", () =>
    Effect.gen(function* () {
      const url = "https://api.anthropic.com"
      const { error } = yield* read(yield* providerOf({ url }, { apiKey: undefined }))
      expect(error).toMatchObject({
        reason: "authentication",
        retryable: false,
        message: "There is no API key for Anthropic. Set ANTHROPIC_API_KEY, or give the run a key."
      })
    })
  )

  /** All places of an answer in which a server, or a gateway before it, can repeat a key. */
  const repeated: ReadonlyArray<readonly [place: string, answer: Answer]> = [
    ["the message of a status", fails(401, "authentication_error", `no such key: ${KEY}`)],
    ["the message of an error that has the status of a success", fails(200, "authentication_error", `no key: ${KEY}`)],
    ["a message behind what is shown of it", fails(400, "invalid_request_error", `${"a ".repeat(90)} ${KEY}`)],
    ["a message in whose middle it is cut off", fails(400, "invalid_request_error", `${"a".repeat(115)} ${KEY}`)],
    ["the type of an error", fails(400, KEY, "no")],
    ["the code of an error", replies(400, { error: { type: "x", message: "no", details: { error_code: KEY } } })],
    ["another member of an error", replies(400, { error: { type: "x", message: "no" }, sent: KEY })],
    ["the id of the request", fails(400, "x", "no", { "request-id": KEY })],
    ["another header", fails(400, "x", "no", { "x-sent": `Bearer ${KEY}` })],
    ["a page", replies(403, `<p>${KEY}</p>`, { "content-type": "text/html" })],
    ["a text that is no stream", replies(200, `unknown key ${KEY}`, { "content-type": "text/plain" })],
    ["the type of a document that is no stream", replies(200, "{}", { "content-type": `application/json; k=${KEY}` })],
    ["an event that is no JSON", streams(`${sse(start())}data: {${KEY}\n\n`)],
    ["an event in whose middle it is cut off", streams(`${sse(start())}data: {${"a".repeat(110)}${KEY}\n\n`)],
    ["an event out of place", streams(sse(start(), { type: "content_block_stop", index: KEY }))],
    ["an error in the middle", streams(sse(start(), { type: "error", error: { type: KEY, message: KEY } }))],
    [
      "a refusal",
      streams(sse(start(), ...call(0, "a", "1"), halt("refusal", { stop_details: { explanation: KEY } }), stop))
    ]
  ]

  it.live.each(repeated)("is in no error, also if the server repeats it in %s", ([, answer]) =>
    Effect.gen(function* () {
      const server = yield* serve(answer, answer)
      const ofHeader = { apiKey: undefined, headers: { "X-Api-Key": KEY, Authorization: `Bearer ${KEY}` } }
      for (const options of [{}, ofHeader]) {
        const { error } = yield* read(yield* providerOf(server, options))
        expect(error?.message).toMatch(/\w/)
        const told = error?.message + inspect(error?.cause, { depth: 10 })
        expect(told).not.toContain(KEY.slice(0, 10))
      }
    })
  )

  it.live("that is none, such as servers without keys are given, garbles no message", () =>
    Effect.gen(function* () {
      const server = yield* serve(fails(404, "not_found_error", "model 'one' not found"))
      const { error } = yield* read(yield* providerOf(server, { apiKey: Redacted.make("one") }))
      expect(error?.message).toContain("model 'one' not found")
    })
  )

  it.live("may be replaced by a header", () =>
    Effect.gen(function* () {
      const server = yield* serve(streams(says("ok")))
      yield* read(
        yield* providerOf(server, {
          apiKey: undefined,
          headers: { "x-api-key": "k", "X-Team": "t" },
          betas: ["a", "b"]
        })
      )
      expect(server.requests[0]!.headers).toMatchObject({ "x-api-key": "k", "x-team": "t", "anthropic-beta": "a,b" })
      expect(server.requests[0]!.headers.authorization).toBeUndefined()
    })
  )
})

it.live("a refusal ends the run in peace, unless tools were called in it", () =>
  Effect.gen(function* () {
    const details = { stop_details: { type: "refusal", category: "bio", explanation: "not this" } }
    const server = yield* serve(
      streams(sse(start(), ...text(0, "I "), halt("refusal", details), stop)),
      streams(sse(start(), ...call(0, "read", "toolu_1", "{}"), halt("refusal", details), stop))
    )
    const provider = yield* providerOf(server)
    const refused = yield* play(provider)
    expect(refused.reason).toBe("completed")
    expect(refused.responses[0]).toMatchObject({
      stopReason: "stop",
      stopDetail: { type: "refusal", message: "not this" }
    })
    const calling = yield* play(provider, { tools: [] })
    expect(calling.reason).toBe("error")
    expect(calling.results).toEqual([])
    expect(calling.responses[0]).toMatchObject({
      errorMessage: "The model refused to go on: not this",
      error: { reason: "contentRefused", retryable: false }
    })
  })
)
