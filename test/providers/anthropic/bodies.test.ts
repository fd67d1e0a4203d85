// Twenty conversations in which whatever can happen does, and which are aborted at random places: every body that was sent
// is a valid request, by the rules of the API and by the SDK's own types.
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { execFile } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Content, LlmMessage } from "../../../src/Message.ts"
import * as TraceChecker from "../../../src/testing/TraceChecker.ts"
import * as Tool from "../../../src/Tool.ts"
import { user } from "../../support/make.ts"
import { runOf } from "./play.ts"
import { violationsOf } from "./rules.ts"
import { type Answer, breaks, fails, providerOf, serveWith, stalls, streams } from "./server.ts"
import * as wire from "./wire.ts"
import { sse } from "./wire.ts"

const CONVERSATIONS = 20
const RUNS = 10

/** Numbers that look random and are the same each time (mulberry32). */
const randomOf = (seed: number) => {
  let state = seed
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
  const below = (n: number) => Math.floor(next() * n)
  return { below, one: <A>(of: ReadonlyArray<A>): A => of[below(of.length)]!, chance: (p: number) => next() < p }
}
type Random = ReturnType<typeof randomOf>

const png: Content = { type: "image", data: "aGk=", mimeType: "image/png" }

const tool = (name: string, execute: (n: number) => Effect.Effect<string | Tool.ToolResult, Tool.ToolFailure>) =>
  Tool.make({
    name,
    description: `Does ${name}.`,
    parameters: Schema.Struct({ n: Schema.Finite }),
    execute: ({ n }) => execute(n)
  })

/** `abort` aborts the run that goes on: whatever never ends does so with it. */
const toolsOf = (abort: () => void) => [
  tool("echo", (n) => Effect.succeed(`${n}`)),
  tool("silent", () => Effect.succeed(" \n")),
  tool("picture", () => Effect.succeed({ content: [png] })),
  tool("broken", () => Effect.fail(new Tool.ToolFailure({ message: "lone \ud800" }))),
  tool("stuck", () => Effect.andThen(Effect.sync(abort), Effect.never))
]

/** A response of any kind. */
const answerOf = (random: Random, n: number, abort: () => void): Answer => {
  const blocks = Array.from({ length: 1 + random.below(4) }, (_, index) => {
    switch (random.below(7)) {
      case 0:
      case 1:
        return wire.text(index, random.one(["Well.", " ", "🦊 \ud83e", ""]))
      case 2:
        return wire.thinking(index, random.one(["c2ln", ""]), "hm")
      case 3:
        return [wire.begin(index, { type: "redacted_thinking", data: "b3BhcXVl" }), wire.end(index)]
      case 4:
        return [
          wire.begin(index, {
            type: "server_tool_use",
            id: `srvtoolu_${n}_${index}`,
            name: "web_search",
            input: { query: "x" }
          }),
          wire.end(index)
        ]
      default: {
        const name = random.one(["echo", "echo", "silent", "silent", "picture", "broken", "stuck", "no.such tool"])
        const id = random.one([`toolu_${n}_${index}`, "the same", `call|${n}`])
        return wire.call(index, name, id, '{"n":', random.one(["1}", "1}", "1}", '"x"}', "["]))
      }
    }
  })
  const calls = blocks.some(([first]) => JSON.stringify(first).includes('"tool_use"'))
  const reason = random.one([
    ...Array.from({ length: 7 }, () => (calls ? "tool_use" : "end_turn")),
    "max_tokens",
    "refusal",
    "pause_turn"
  ])
  const events = [wire.start(), ...blocks.flat(), wire.halt(reason), wire.stop]
  const part = sse(...events.slice(0, 1 + random.below(events.length)))
  switch (random.below(12)) {
    case 0:
      return breaks(part)
    case 1:
      return (response) => {
        stalls(part)(response)
        setImmediate(abort)
      }
    case 2:
      return random.chance(0.5) ? fails(529, "overloaded_error", "Overloaded") : streams(part)
    default:
      return streams(sse(...events))
  }
}

/** The bodies of a conversation of several runs, each of which may be aborted after any of its events. */
const conversation = Effect.fnUntraced(function* (seed: number) {
  const random = randomOf(seed)
  let abort = () => {}
  const server = yield* serveWith((n) => answerOf(randomOf(1_000 * seed + n), n, () => abort()))
  const provider = yield* providerOf(server, { cache: random.one(["5m", "1h", "off"]) })
  const tools = toolsOf(() => abort())
  const id = random.one(["claude-sonnet-4-6", "claude-haiku-4-5"])
  let messages: ReadonlyArray<LlmMessage> = []
  let aborted = 0
  for (let run = 0; run < RUNS; run++) {
    const abortAt = random.chance(0.5) ? Infinity : random.below(40)
    const recorder = TraceChecker.recorder()
    yield* runOf(provider, {
      prompts: random.one([[user(`${run}`)], [user(`${run}`)], [{ role: "user", content: [png], timestamp: 0 }], []]),
      messages,
      model: { id: random.chance(0.7) ? id : "claude-haiku-4-5", provider: "anthropic" },
      thinkingLevel: random.one(["off", "low", "low", "xhigh"]),
      tools: random.chance(0.8) ? tools : undefined,
      systemPrompt: random.one(["Be \ud800.", " ", undefined]),
      maxTurns: 6
    }).pipe(
      Stream.runForEachArray((events) =>
        Effect.withFiber((fiber) =>
          Effect.sync(() => {
            abort = () => fiber.interruptUnsafe()
            for (const event of events) recorder.add(event)
            if (recorder.events.length > abortAt) abort()
          })
        )
      ),
      Effect.uninterruptible,
      Effect.forkChild({ startImmediately: true }),
      Effect.flatMap(Fiber.await)
    )
    expect(recorder.check(messages)).toMatchObject({ _tag: "None" })
    const last = recorder.events.at(-1)!
    if (last.type !== "agent_end") return yield* Effect.die("the run has no end")
    if (last.reason === "aborted") aborted++
    messages = [...messages, ...(last.messages as ReadonlyArray<LlmMessage>)]
    if (random.chance(0.2)) messages = messages.slice(random.below(messages.length))
    if (random.chance(0.2)) messages = messages.slice(0, random.below(messages.length))
    if (random.chance(0.2)) messages = messages.filter(() => random.chance(0.8))
  }
  return { bodies: server.requests.map(({ body }) => body as Record<string, unknown>), aborted }
})

describe("the bodies of twenty conversations", () => {
  it.live(
    "are valid requests, whatever was aborted, cut or edited in them",
    () =>
      Effect.gen(function* () {
        const played = yield* Effect.forEach(
          Array.from({ length: CONVERSATIONS }, (_, seed) => seed),
          conversation
        )
        const bodies = played.flatMap((each) => each.bodies)
        expect(bodies.flatMap(violationsOf)).toEqual([])
        // All of this has happened, or the conversations say nothing.
        const text = JSON.stringify(bodies)
        const seen = [
          "tool_use",
          "is_error",
          "No result of this call",
          "redacted_thinking",
          "signature",
          "server_tool_use",
          "base64",
          "Continue.",
          "is not shown",
          "no_such_tool",
          '"tool_choice":{"type":"none"}',
          '"type":"enabled"',
          "(no output)",
          '"ttl"'
        ]
        expect(seen.filter((part) => !text.includes(part))).toEqual([])
        expect(played.reduce((sum, { aborted }) => sum + aborted, 0)).toBeGreaterThan(CONVERSATIONS)
        expect(bodies.length).toBeGreaterThan(5 * CONVERSATIONS)
        expect(yield* typeErrorsOf(bodies)).toBe("")
      }),
    60_000
  )

  it.live("would not be, if anything was wrong with their types", () =>
    Effect.gen(function* () {
      const body = {
        model: "m",
        max_tokens: 1,
        stream: true,
        messages: [{ role: "user", content: [{ type: "text", txt: "a" }] }]
      }
      expect(yield* typeErrorsOf([body])).toContain("txt")
    })
  )
})

/** What the compiler says of bodies as values of the SDK's own type. */
const typeErrorsOf = Effect.fnUntraced(function* (bodies: ReadonlyArray<object>) {
  const root = join(import.meta.dirname, "../../..")
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "bodies-"))),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true }))
  )
  const lines = bodies.map((body) => `  ${JSON.stringify(body)}`)
  writeFileSync(
    join(folder, "bodies.ts"),
    `import type { Anthropic } from "@anthropic-ai/sdk"
export const bodies: ReadonlyArray<Anthropic.MessageCreateParamsStreaming> = [\n${lines.join(",\n")}\n]`
  )
  const compilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    target: "es2024",
    module: "nodenext",
    types: ["node"],
    typeRoots: [join(root, "node_modules/@types")],
    paths: { "@anthropic-ai/sdk": [join(root, "node_modules/@anthropic-ai/sdk/index.d.mts")] }
  }
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }')
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["bodies.ts"] }))
  return yield* Effect.callback<string>((resume) => {
    execFile(join(root, "node_modules/.bin/tsc"), ["-p", folder], (_, stdout) => resume(Effect.succeed(stdout)))
  })
}, Effect.scoped)
