// `effect-agent models`: a table or lines on standard output, and on standard error why they are not those of the API.
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { fails, KEY, replies, serve, type TestServer } from "../providers/anthropic/server.ts"
import { playing, run } from "./harness.ts"
import { runMain } from "./processes.ts"

const envOf = ({ url }: TestServer) => ({ ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: url })

const listed = replies(200, {
  data: [
    { id: "claude-haiku-4-5", lifecycle: "deprecated", retires_at: "2027-02-03T00:00:00Z", max_tokens: 5 },
    { id: "claude-opus-5-5", display_name: "Opus", lifecycle: "active", retires_at: null },
    { id: "\u001b[2Jother", max_input_tokens: 1_000 }
  ],
  has_more: false
})

describe("the models", () => {
  it.live("are those of the API, as a table", () =>
    Effect.gen(function* () {
      const server = yield* serve(listed)
      expect(yield* run(["models"], { env: envOf(server) })).toEqual({
        code: 0,
        stderr: "",
        stdout: [
          "MODEL               CONTEXT   OUTPUT  THINKING                    IMAGES",
          "claude-haiku-4-5    200,000        5  budget                      yes     deprecated, until 2027-02-03",
          "claude-opus-5-5   1,000,000  128,000  adaptive (low–max), always  yes",
          "␛[2Jother             1,000    8,192  budget                      yes",
          ""
        ].join("\n")
      })
    })
  )

  it.live("are a line of JSON each, wherever the option stands", () =>
    Effect.gen(function* () {
      for (const args of [
        ["models", "--mode", "json"],
        ["--mode", "json", "models"]
      ]) {
        const { code, stdout, stderr } = yield* run(args, { env: envOf(yield* serve(listed)) })
        expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
        const lines = stdout.trimEnd().split("\n")
        expect(lines.length).toBe(3)
        expect(JSON.parse(lines[1]!)).toEqual({
          id: "claude-opus-5-5",
          name: "Opus",
          lifecycle: "active",
          contextWindow: 1_000_000,
          maxTokens: 128_000,
          images: true,
          thinking: "adaptive",
          efforts: ["low", "medium", "high", "xhigh", "max"],
          source: "api"
        })
        expect(stdout).not.toContain("\u001b")
      }
    })
  )

  it.live("are those of the server and the key that the options name", () =>
    Effect.gen(function* () {
      const server = yield* serve(replies(200, { data: [{ id: "qwen3:8b" }] }))
      const { code, stdout } = yield* run(["models", "--base-url", server.url, "--api-key-env", "MINE"], {
        env: { MINE: "my key" }
      })
      expect(code).toBe(0)
      expect(stdout).toMatch(/^qwen3:8b +\? +\? +\? +\?$/m)
      expect(server.requests[0]!.headers.authorization).toBe("Bearer my key")
    })
  )

  it.live("are those of the table where there is no key, or no network", () =>
    Effect.gen(function* () {
      const table = /These models are from a table of 30 November 2026\.\n$/
      const withoutKey = yield* run(["models"])
      expect(withoutKey.code).toBe(0)
      expect(withoutKey.stderr).toMatch(/^! There is no API key for Anthropic\. Set ANTHROPIC_API_KEY.*\n$/)
      expect(withoutKey.stderr).toMatch(table)
      expect(withoutKey.stdout).toMatch(/^claude-opus-5-5 +1,000,000 +128,000 +adaptive/m)
      const offline = yield* runMain(["models", "--mode", "json", "--base-url", "http://127.0.0.1:1"])
      expect(offline.code).toBe(0)
      expect(offline.stderr).toMatch(/^! Cannot reach http:\/\/127\.0\.0\.1:1\. .*\n$/)
      expect(offline.stderr).toMatch(table)
      expect(offline.stdout).toContain('"source":"table"')
    })
  )

  it.live("are an error where the API refuses to list them", () =>
    Effect.gen(function* () {
      const wrong = yield* run(["models"], {
        env: envOf(yield* serve(fails(401, "authentication_error", `no ${KEY}`)))
      })
      expect(wrong).toMatchObject({ code: 1, stdout: "" })
      expect(wrong.stderr).toMatch(/^✗ The API answered: no <redacted> .* Check the API key\.\n$/)
      const none = yield* run(["models"], { env: envOf(yield* serve(fails(404, "not_found_error", "no"))) })
      expect(none).toMatchObject({ code: 1, stdout: "" })
    })
  )

  it.effect("are not taken for a prompt, nor a prompt for them", () =>
    Effect.gen(function* () {
      expect(yield* run(["models", "are", "nice"])).toMatchObject({ code: 2, stderr: expect.stringMatching(/quotes/) })
      expect(yield* run(["models", "--tools", "none"])).toMatchObject({
        code: 2,
        stderr: "effect-agent: There is no option --tools of the command models; --help shows them all.\n"
      })
      const script = yield* playing([[{ type: "text", text: "played" }]])
      for (const prompt of [["list", "models"], ["models are nice"], ["--", "models"]]) {
        expect((yield* run([...script, ...prompt])).stdout).toBe("played\n")
      }
    })
  )
})
