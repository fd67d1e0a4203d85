import { describe, expect, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Sink from "effect/Sink"
import * as Stdio from "effect/Stdio"
import * as Stream from "effect/Stream"
import { vi } from "vitest"
import type { AgentEvent } from "../../src/AgentEvent.ts"
import { type Format, print } from "../../src/cli/print.ts"
import * as Loop from "../../src/Loop.ts"
import { emptyUsage } from "../../src/Message.ts"
import type * as Scripted from "../../src/providers/Scripted.ts"
import { coding } from "../../src/tools/Tools.ts"
import { folder, playing, run } from "./harness.ts"

vi.mock("../../src/Loop.ts", { spy: true })

const agentStart: AgentEvent = { type: "agent_start" }
const agentEnd: AgentEvent = { type: "agent_end", messages: [], reason: "limit", usage: emptyUsage }

/** Each event by its type, to standard output. */
const types: Format<number> = {
  initial: 0,
  step: (count, { type }) => [count + 1, [{ to: "stdout", text: `${count} ${type}\n` }]]
}

/** The arrays of texts that reach standard output, as they come. */
const collect = () => {
  const texts: Array<string> = []
  const sink = Sink.forEach((text: string | Uint8Array) => Effect.sync(() => texts.push(String(text))))
  return { texts, layer: Stdio.layerTest({ stdout: () => sink }) }
}

describe("print", () => {
  it.effect("events that come together are written together, and the end is told", () =>
    Effect.gen(function* () {
      const { layer, texts } = collect()
      const events = Stream.fromArrays<ReadonlyArray<[AgentEvent, ...Array<AgentEvent>]>>(
        [agentStart, { type: "turn_start" }],
        [agentEnd]
      )
      expect(yield* Effect.provide(print(events, types), layer)).toBe("limit")
      expect(texts).toEqual(["0 agent_start\n1 turn_start\n", "2 agent_end\n"])
    })
  )

  it.effect("an interruption is over when the last event is printed, before anything around the run is closed", () =>
    Effect.gen(function* () {
      const { layer, texts } = collect()
      const hasBegun = yield* Deferred.make<void>()
      const stall = Effect.andThen(Deferred.succeed(hasBegun, undefined), Effect.interruptible(Effect.never))
      const events = Stream.concat(Stream.make(agentStart), Stream.fromEffect(Effect.as(Effect.exit(stall), agentEnd)))
      const program = Effect.ensuring(
        print(events, types),
        Effect.sync(() => texts.push("closed"))
      )
      const fiber = yield* Effect.forkChild(Effect.provide(program, layer))
      yield* Deferred.await(hasBegun)
      yield* Fiber.interrupt(fiber)
      expect(texts).toEqual(["0 agent_start\n", "1 agent_end\n", "closed"])
    })
  )
})

describe("the run that is printed", () => {
  it.effect("is the one that the options ask for", () =>
    Effect.gen(function* () {
      const hello: Scripted.Turn = [{ type: "text", text: "Hello" }]
      const cwd = yield* folder()
      const args = yield* playing(
        [hello],
        "--cwd",
        cwd,
        "--model",
        "m7",
        "--thinking",
        "high",
        "--max-turns",
        "5",
        "hi"
      )
      yield* run(args)
      expect(vi.mocked(Loop.run).mock.lastCall?.[0]).toEqual({
        prompts: [{ role: "user", content: [{ type: "text", text: "hi" }], timestamp: 0 }],
        systemPrompt: expect.stringContaining(cwd),
        tools: coding,
        model: { id: "m7", provider: "scripted" },
        thinkingLevel: "high",
        maxTurns: 5,
        retry: expect.anything()
      })
    })
  )
})
