// The layer: what it takes from the configuration, and what it costs before the first request.
import { describe, expect, it, vi } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Inspectable from "effect/Inspectable"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
import { execFile } from "node:child_process"
import { setGlobalDispatcher, getGlobalDispatcher, Agent } from "@effect/platform-node/Undici"
import { join } from "node:path"
import * as Anthropic from "../../src/providers/Anthropic.ts"
import { lookup } from "../../src/providers/anthropic/models.ts"
import { Provider } from "../../src/services/Provider.ts"
import { read } from "./anthropic/play.ts"
import { fails, KEY, providerOf, serve, streams } from "./anthropic/server.ts"
import { says } from "./anthropic/wire.ts"

const withConfig = (config: Record<string, string>) =>
  Effect.flatMap(Provider, read).pipe(
    Effect.provide(Layer.provide(Anthropic.layer, ConfigProvider.layer(ConfigProvider.fromUnknown(config))))
  )

/** Sets a variable of the environment for as long as a test takes. */
const setVariable = (name: string, value: string) =>
  Effect.acquireRelease(
    Effect.sync(() => void (process.env[name] = value)),
    () => Effect.sync(() => void delete process.env[name])
  )

describe("the layer", () => {
  it.live("takes key, base URL, headers and betas from the configuration", () =>
    Effect.gen(function* () {
      const server = yield* serve(streams(says("ok")), streams(says("ok")))
      yield* withConfig({
        ANTHROPIC_API_KEY: "k1",
        ANTHROPIC_AUTH_TOKEN: "k2",
        ANTHROPIC_BASE_URL: ` ${server.url}/gateway/ \n`,
        ANTHROPIC_CUSTOM_HEADERS: "X-Team: core\nno header\nX-Url: http://x:1\nAnthropic-Beta: zero",
        ANTHROPIC_BETAS: "one, two"
      })
      yield* withConfig({ ANTHROPIC_API_KEY: "", ANTHROPIC_AUTH_TOKEN: "k2", ANTHROPIC_BASE_URL: server.url })
      const [first, second] = server.requests
      expect(first!.path).toBe("/gateway/v1/messages")
      expect(first!.headers).toMatchObject({
        authorization: "Bearer k1",
        "x-team": "core",
        "x-url": "http://x:1",
        "anthropic-beta": "zero,one,two",
        "anthropic-version": "2026-10-21"
      })
      expect(second!.headers.authorization).toBe("Bearer k2")
    })
  )

  it.live(
    "sends the headers of the configuration, also in place of a key, and none of the environment beside them",
    () =>
      Effect.gen(function* () {
        yield* setVariable("ANTHROPIC_CUSTOM_HEADERS", ": no name\nAuthorization: Bearer secret\nX-Team: core")
        const server = yield* serve(...Array.from({ length: 3 }, () => streams(says("ok"))))
        const config = { ANTHROPIC_BASE_URL: server.url, ANTHROPIC_BETAS: "one,, two," }
        yield* withConfig({ ...config, ANTHROPIC_CUSTOM_HEADERS: "Authorization: Bearer mine" })
        yield* withConfig({ ...config, ANTHROPIC_API_KEY: KEY })
        yield* withConfig(config)
        expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([
          "Bearer mine",
          `Bearer ${KEY}`,
          undefined
        ])
        expect(server.requests.map(({ headers }) => headers["x-team"])).toEqual([undefined, undefined, undefined])
        expect(server.requests[0]!.headers["anthropic-beta"]).toBe("one,two")
      })
  )

  it.live("is made without a key, and fails without one when it is asked", () =>
    Effect.gen(function* () {
      const { error } = yield* withConfig({})
      expect(error).toMatchObject({ reason: "authentication", message: expect.stringContaining("ANTHROPIC_API_KEY") })
    })
  )

  it.live("shows its key to nobody", () =>
    Effect.gen(function* () {
      const options = { apiKey: Redacted.make(KEY) }
      const provider = yield* Anthropic.make(options)
      expect(Inspectable.toStringUnknown([options, provider])).not.toContain(KEY)
      expect(JSON.stringify([options, provider])).not.toContain(KEY)
    })
  )

  it.live("prints nothing, whatever the environment says and however old the model is", () =>
    Effect.gen(function* () {
      const printed: Array<unknown> = []
      const methods = ["debug", "info", "log", "warn", "error"] as const
      yield* setVariable("ANTHROPIC_LOG", "debug")
      yield* Effect.acquireRelease(
        Effect.sync(() =>
          methods.map((method) => vi.spyOn(console, method).mockImplementation((...said) => void printed.push(said)))
        ),
        (spies) =>
          Effect.sync(() => {
            for (const spy of spies) spy.mockRestore()
          })
      )
      const server = yield* serve(streams(says("ok")), fails(401, "authentication_error", "no"))
      const provider = yield* providerOf(server)
      const model = { id: "claude-sonnet-4-5", provider: "anthropic" }
      const logged: Array<unknown> = []
      const logger = Logger.make(({ logLevel, message }) => void logged.push([logLevel, message]))
      const quietly = Effect.provide(Logger.layer([logger]))
      expect((yield* quietly(read(provider, { model }))).error).toBeUndefined()
      expect((yield* quietly(read(provider, { model }))).error).toBeDefined()
      expect(printed).toEqual([])
      // It is said once, and where the application wants it.
      const notice = "The model claude-sonnet-4-5 is deprecated; its last day is 2026-11-30. Choose a newer one."
      expect(logged).toEqual([["Warn", [notice]]])
    })
  )

  it.live("may be told what a model can do", () =>
    Effect.gen(function* () {
      const server = yield* serve(streams(says("ok")), streams(says("ok")))
      const modelInfo = (id: string) => (id === "mine" ? { ...lookup(id), maxTokens: 77 } : undefined)
      const provider = yield* providerOf(server, { modelInfo })
      yield* read(provider, { model: { id: "mine", provider: "anthropic" } })
      yield* read(provider, { model: { id: "claude-haiku-4-5", provider: "anthropic" } })
      expect(server.requests.map(({ body }) => body.max_tokens)).toEqual([77, 64_000])
    })
  )
})

const script = `
  import { registerHooks } from "node:module"
  const loaded = []
  registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
  const Effect = await import("effect/Effect")
  const Layer = await import("effect/Layer")
  const Anthropic = await import("./src/providers/Anthropic.ts")
  await Effect.runPromise(Effect.scoped(Layer.build(Anthropic.layerWith({ baseUrl: "http://127.0.0.1:1" }))))
  const heavy = loaded.filter((url) => /anthropic-ai|undici|anthropic\\/stream/.test(url))
  console.log(JSON.stringify(heavy))
`

describe("a program that asks nothing", () => {
  it.live("does not load the SDK", () =>
    Effect.gen(function* () {
      const root = join(import.meta.dirname, "../..")
      const output = yield* Effect.callback<string>((resume) => {
        execFile(process.execPath, ["--input-type=module", "-e", script], { cwd: root }, (error, stdout, stderr) =>
          resume(error === null ? Effect.succeed(stdout) : Effect.die(stderr))
        )
      })
      expect(JSON.parse(output)).toEqual([])
    })
  )
})

describe("a limit that is longer than that of fetch", () => {
  it.live("is kept by connections that have none", () =>
    Effect.gen(function* () {
      // Fetch itself is made impatient, so that nobody has to wait for five minutes.
      yield* Effect.acquireRelease(
        Effect.sync(() => {
          const original = getGlobalDispatcher()
          setGlobalDispatcher(new Agent({ headersTimeout: 50, bodyTimeout: 50 }))
          return original
        }),
        (original) => Effect.sync(() => setGlobalDispatcher(original))
      )
      let release = () => {}
      const server = yield* serve(
        (response) => {
          response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders()
          release = () => void response.end(says("at last"))
        },
        (response) => void response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders()
      )
      const patient = yield* providerOf(server, { idleLimit: "1 hour" })
      const reading = yield* Effect.forkChild(read(patient), { startImmediately: true })
      yield* server.asked(0)
      // What began later and has lost its patience shows that the limit of fetch is over.
      const impatient = yield* providerOf(server, { idleLimit: "1 minute" })
      expect((yield* read(impatient)).error).toMatchObject({ reason: "idle", retryable: true })
      release()
      const { error, events } = yield* Fiber.join(reading)
      expect(error).toBeUndefined()
      expect(events).toContainEqual({ type: "text_delta", contentIndex: 0, delta: "at last" })
    })
  )
})
