// The command line with a real model behind it, over HTTP on loopback: whom it asks, with which key, and how each way in
// which that goes wrong ends: in a sentence that says what to do, and an exit code.
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { createServer } from "node:net"
import type { AddressInfo } from "node:net"
import {
  type Answer,
  breaks,
  fails,
  KEY,
  replies,
  serve,
  stalls,
  streams,
  type TestServer
} from "../providers/anthropic/server.ts"
import * as wire from "../providers/anthropic/wire.ts"
import { says, sse } from "../providers/anthropic/wire.ts"
import { linesOf, playing, prepare, run } from "./harness.ts"
import { runMain, startMain } from "./processes.ts"

/** The environment of somebody who has a key, and a server in place of Anthropic's. */
const envOf = ({ url }: TestServer, more: Readonly<Record<string, string>> = {}) => ({
  ANTHROPIC_API_KEY: KEY,
  ANTHROPIC_BASE_URL: url,
  ...more
})

/** Runs a command line against a server that gives these answers. Nowhere may there be the key. */
const ask = Effect.fnUntraced(function* (
  answers: ReadonlyArray<Answer>,
  args: ReadonlyArray<string> = [],
  more?: Readonly<Record<string, string>>
) {
  const server = yield* serve(...answers)
  const result = yield* run([...args, "--tools", "none", "hi"], { env: envOf(server, more) })
  expect(result.stdout + result.stderr).not.toContain(KEY)
  return { ...result, requests: server.requests }
})

/** What a server says of its models that has no list of them. */
const noList = fails(404, "not_found_error", "Not Found")

const authorizations = (requests: TestServer["requests"]) => requests.map(({ headers }) => headers.authorization)

describe("a real model", () => {
  it.live("answers where a key is configured", () =>
    Effect.gen(function* () {
      const { requests, ...rest } = yield* ask([streams(says("Hel", "lo."))])
      expect(rest).toEqual({ code: 0, stdout: "Hello.\n", stderr: "" })
      expect(authorizations(requests)).toEqual([`Bearer ${KEY}`])
      expect(requests[0]!.body).toMatchObject({ model: "claude-sonnet-5-5", stream: true })
    })
  )

  it.live("is the one of --model, at --base-url, with the key of --api-key-env", () =>
    Effect.gen(function* () {
      const server = yield* serve(streams(says("Hello.")))
      const args = ["--base-url", server.url, "--api-key-env", "MY_KEY", "--model", "claude-haiku-5-5", "hi"]
      const env = { ANTHROPIC_API_KEY: "another", ANTHROPIC_BASE_URL: "http://127.0.0.1:1", MY_KEY: KEY }
      expect(yield* run(args, { env })).toEqual({ code: 0, stdout: "Hello.\n", stderr: "" })
      expect(authorizations(server.requests)).toEqual([`Bearer ${KEY}`])
      expect(server.requests[0]!.body.model).toBe("claude-haiku-5-5")
    })
  )

  it.live("needs no key on a server that asks for none", () =>
    Effect.gen(function* () {
      const server = yield* serve(streams(says("Hello.")))
      expect(yield* run(["--base-url", server.url, "hi"])).toMatchObject({ code: 0, stdout: "Hello.\n" })
      expect(authorizations(server.requests)).toEqual([undefined])
    })
  )

  it.live("cannot read its own key by a command, whatever the name of its variable is", () =>
    Effect.gen(function* () {
      const call = wire.call(0, "bash", "toolu_1", JSON.stringify({ command: 'echo "<$PLAIN>"; printenv' }))
      const server = yield* serve(
        streams(sse(wire.start(), ...call, wire.halt("tool_use"), wire.stop)),
        streams(says("ok"))
      )
      const { code, stdout, stderr } = yield* runMain(["--base-url", server.url, "--api-key-env", "PLAIN", "hi"], {
        env: { PLAIN: KEY, ANTHROPIC_API_KEY: `${KEY}2`, OTHER: "shown" }
      })
      expect({ code, stdout }).toEqual({ code: 0, stdout: "ok\n" })
      expect(server.requests[1]!.headers.authorization).toBe(`Bearer ${KEY}`)
      const told = JSON.stringify(server.requests[1]!.body)
      expect(told).toContain("<>")
      expect(told).toContain("OTHER=shown")
      expect(told + stderr).not.toContain(KEY)
    })
  )

  it.live("is not asked without a key, or where another provider is chosen", () =>
    Effect.gen(function* () {
      const server = yield* serve()
      for (const env of [{ ANTHROPIC_BASE_URL: server.url }, envOf(server, { ANTHROPIC_API_KEY: " " })]) {
        expect((yield* run(["what are you?"], { env })).stdout).toContain("offline stand-in")
      }
      const env = envOf(server)
      expect((yield* run(["--provider", "offline", "what are you?"], { env })).stdout).toContain("offline stand-in")
      const script = yield* playing([[{ type: "text", text: "played" }]], "hi")
      expect((yield* run(script, { env })).stdout).toBe("played\n")
      expect(server.requests).toEqual([])
    })
  )

  it.live("has a cost at the end with --usage, in both modes on standard error", () =>
    Effect.gen(function* () {
      const usage = { input_tokens: 1_234, output_tokens: 1, cache_read_input_tokens: 100_000 }
      const done = sse(wire.start(usage), wire.halt("end_turn", {}, { output_tokens: 200 }), wire.stop)
      const line = "1,234 tokens in, 200 out, 100,000 read from the cache, 0 written to it"
      const args = ["--usage", "--model", "claude-sonnet-4-6"]
      expect((yield* ask([streams(done)], args)).stderr).toBe(`${line}: $0.0367\n`)
      const json = yield* ask([streams(done)], [...args, "--mode", "json"])
      expect(json.stderr).toBe(`${line}: $0.0367\n`)
      expect(linesOf(json.stdout).at(-1)).toMatchObject({ usage: { cost: { total: expect.closeTo(0.0367, 4) } } })
      const unknown = yield* ask([noList, streams(done)], ["--usage", "--model", "somebody"])
      expect(unknown.stderr).toBe(`${line}: the cost is not known\n`)
      expect((yield* ask([streams(done)])).stderr).toBe("")
    })
  )
})

describe("a failure that may pass", () => {
  const busy = fails(529, "overloaded_error", "Overloaded", { "retry-after-ms": "1" })

  it.live("is retried, and each wait is told", () =>
    Effect.gen(function* () {
      const half = breaks(sse(wire.start(), ...wire.text(0, "Half").slice(0, 2)))
      const { code, stderr, stdout, requests } = yield* ask(
        [busy, half, streams(says("Whole."))],
        ["--idle-timeout", "0"]
      )
      expect({ code, stdout }).toEqual({ code: 0, stdout: "Half\nWhole.\n" })
      const [first, second, ...more] = stderr.split("\n")
      expect(first).toMatch(/^↻ The API answered: Overloaded .*\. Retry 1 begins in 0 s\.$/)
      expect(second).toMatch(
        /^↻ The connection .* broke .* Retry 2 begins in \d(\.\d)? s; what was shown .* discarded\.$/
      )
      expect(more).toEqual([""])
      expect(requests.length).toBe(3)
    })
  )

  it.live.each([
    [[], 6],
    [["--retries", "2"], 3],
    [["--retries", "0"], 1]
  ] as const)("is retried as often as %j says", ([args, count]) =>
    Effect.gen(function* () {
      const { code, stderr, requests } = yield* ask([busy, busy, busy, busy, busy, busy, busy], args)
      expect(code).toBe(1)
      expect(requests.length).toBe(count)
      expect(stderr.split("\n").slice(0, -2)).toEqual(
        Array.from({ length: count - 1 }, () => expect.stringMatching(/^↻/))
      )
      expect(stderr.split("\n").at(-2)).toMatch(/^✗ The API answered: Overloaded \(529 overloaded_error\)/)
    })
  )

  it.live("is a silence as long as --idle-timeout", () =>
    Effect.gen(function* () {
      const silent = stalls(sse(wire.start()))
      const { code, stderr } = yield* ask([silent], ["--idle-timeout", "0.05", "--retries", "0"])
      expect(code).toBe(1)
      expect(stderr).toMatch(/^✗ There was nothing from \S+ for 0.05 seconds\.\n$/)
    })
  )
})

// ---------------------------------------------------------------------------------------------------------------------
// Failures that end it
// ---------------------------------------------------------------------------------------------------------------------

/** A port on which nobody listens. */
const nobody = Effect.callback<string>((resume) => {
  const server = createServer().listen(0, "127.0.0.1", () => {
    const { port } = server.address() as AddressInfo
    server.close(() => resume(Effect.succeed(`http://127.0.0.1:${port}`)))
  })
})

describe("what a person has to mend", () => {
  const cases: ReadonlyArray<[name: string, answer: Answer | undefined, args: ReadonlyArray<string>, says: RegExp]> = [
    [
      "a wrong key",
      fails(401, "authentication_error", `invalid x-api-key ${KEY}`),
      [],
      /^✗ The API answered: invalid x-api-key <redacted> .*\. Check the API key\.\n$/
    ],
    [
      "an unknown model",
      fails(404, "not_found_error", "model: claude-sonnet-5-5"),
      [],
      /^✗ The API answered: model: claude-sonnet-5-5 .*\. Check the name of the model, and the base URL\.\n$/
    ],
    [
      "no money left",
      fails(400, "invalid_request_error", "Your credit balance is too low to access the API."),
      [],
      /^✗ .*credit balance is too low.*\. Check the plan and the limits of the account\.\n$/
    ],
    [
      "a login page",
      replies(200, "<html>Sign in</html>", { "content-type": "text/html" }),
      [],
      /^✗ \S+ answered with text\/html, not with a response of a model\. Check the base URL\.\n$/
    ],
    [
      "a base URL that is none",
      undefined,
      ["--base-url", "nowhere"],
      /^✗ The base URL is not a URL that begins with .*\n$/
    ]
  ]

  it.live.each(cases)("%s is one line on standard error, and exit code 1", ([, answer, args, says]) =>
    Effect.gen(function* () {
      const { code, stdout, stderr } = yield* ask(answer === undefined ? [] : [answer], args)
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
      expect(stderr).toMatch(says)
    })
  )

  it.live("no key where one is needed", () =>
    Effect.gen(function* () {
      expect(yield* run(["--provider", "anthropic", "hi"])).toEqual({
        code: 1,
        stdout: "",
        stderr: "✗ There is no API key for Anthropic. Set ANTHROPIC_API_KEY, or give the run a key.\n"
      })
    })
  )

  it.live("a key that cannot be sent is not shown", () =>
    Effect.gen(function* () {
      const { code, stderr } = yield* ask([], [], { ANTHROPIC_API_KEY: "sk-\nSECRET" })
      expect(code).toBe(1)
      expect(stderr).toMatch(/^✗ The API key has characters that cannot be sent\. .*\n$/)
      expect(stderr).not.toContain("SECRET")
    })
  )

  it.live("no network: what cannot be reached, by which code, and where to look", () =>
    Effect.gen(function* () {
      const url = yield* nobody
      const args = ["--base-url", url, "--retries", "0", "hi"]
      const stderr = `✗ Cannot reach ${url} (ECONNREFUSED). Check the network and the base URL.\n`
      expect(yield* run(args)).toEqual({ code: 1, stdout: "", stderr })
      expect(yield* runMain(args)).toEqual({ code: 1, stdout: "", stderr })
    })
  )

  it.live("in json mode the run tells it, and standard error stays empty", () =>
    Effect.gen(function* () {
      const { code, stderr, stdout } = yield* ask([fails(401, "authentication_error", "no")], ["--mode", "json"])
      expect({ code, stderr }).toEqual({ code: 1, stderr: "" })
      expect(linesOf(stdout).at(-1)).toMatchObject({
        type: "agent_end",
        reason: "error",
        messages: [{}, { error: { reason: "authentication", retryable: false } }]
      })
    })
  )
})

describe("an abort", () => {
  const later = fails(529, "overloaded_error", "Overloaded", { "retry-after": "30" })

  it.live("in the wait before a retry ends the run at once", () =>
    Effect.gen(function* () {
      const server = yield* serve(later)
      const { child, ended, has } = yield* startMain(["hi"], { env: envOf(server) })
      yield* has("stderr", /Retry 1 begins in 30 s/)
      const begun = performance.now()
      child.kill("SIGINT")
      const { code, stdout, stderr } = yield* ended
      expect({ code, stdout }).toEqual({ code: 130, stdout: "" })
      expect(stderr).toMatch(/^↻ .* Retry 1 begins in 30 s\.\n! aborted\n$/)
      expect(performance.now() - begun).toBeLessThan(3_000)
      expect(server.requests.length).toBe(1)
    })
  )

  it.live("while the model is waited for closes the connection", () =>
    Effect.gen(function* () {
      const server = yield* serve(stalls(""))
      const { child, ended } = yield* startMain(["hi"], { env: envOf(server) })
      yield* server.asked(0)
      child.kill("SIGINT")
      expect(yield* ended).toEqual({ code: 130, stdout: "", stderr: "! aborted\n" })
      expect(yield* server.ended(0)).toBe("left")
    })
  )

  it.live("of the program inside another, too", () =>
    Effect.gen(function* () {
      const server = yield* serve(later)
      const { exitCode, has, written } = prepare(["hi"], { env: envOf(server) })
      const fiber = yield* Effect.forkChild(exitCode)
      yield* has("stderr", "Retry 1")
      yield* Effect.sync(() => fiber.interruptUnsafe())
      yield* has("stderr", "! aborted")
      expect(written.stdout).toBe("")
    })
  )
})
