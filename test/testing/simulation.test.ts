// The simulation itself: what a world says happens, when it says so, and is all that is recorded.
import { describe, expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Faults from "../../src/testing/Faults.ts"
import * as Recording from "../../src/testing/Recording.ts"
import * as Simulation from "../../src/testing/Simulation.ts"
import type { World } from "../../src/testing/World.ts"
import * as Tool from "../../src/Tool.ts"
import { call, failing, pause, say, user } from "../support/make.ts"

const wait = (ms: number) => ({ type: "wait", ms }) as const

/** The lines of the log that hold these words. */
const lines = (recording: Recording.Recording, ...words: ReadonlyArray<string>) =>
  Recording.show(recording)
    .split("\n")
    .filter((line) => words.some((word) => line.includes(word)))
    .map((line) => line.replace(/^ *(\S+) ms +\d+ +/, "$1 "))

const resultsOf = (recording: Recording.Recording) =>
  Recording.messagesOf(recording).flatMap((message) =>
    message.role === "toolResult" ? message.content.map((block) => (block.type === "text" ? block.text : "image")) : []
  )

const oneTool = (...steps: NonNullable<NonNullable<World["tools"]>[number]["calls"]>[number]): World => ({
  turns: [[call("a")], [say("done")]],
  tools: [{ name: "a", calls: [steps] }]
})

describe("a world", () => {
  it.effect("is recorded in a log, from the first event to the end", () =>
    Effect.gen(function* () {
      const recording = yield* Simulation.run({
        turns: [[pause(5), say("hi")]],
        hooks: { transformContext: [[wait(2)]] }
      })
      expect(Recording.show(recording)).toBe(
        [
          "      0 ms    0  ...",
          "      0 ms    1    agent_start",
          "      0 ms    2    turn_start",
          "      0 ms    3    message_start user",
          "      0 ms    4    message_end user",
          "      0 ms    5  ...",
          "      0 ms    6  > hook transformContext",
          "      2 ms    7  < hook transformContext: done",
          "      2 ms    8  > stream response",
          "      2 ms    9  > pull response",
          "      7 ms   10  < pull response: done",
          "      7 ms   11    message_start assistant",
          "      7 ms   12    message_update text_start",
          "      7 ms   13    message_update text_delta",
          "      7 ms   14    message_update text_end",
          "      7 ms   15  ...",
          "      7 ms   16  < stream response: done",
          "      7 ms   17    message_end assistant",
          "      7 ms   18    turn_end",
          "      7 ms   19  ...",
          "      7 ms   20    agent_end completed",
          "      7 ms   21  ...",
          "      7 ms   22  end"
        ].join("\n")
      )
      expect(recording.end).toEqual({ at: 7, position: 22 })
      expect(recording.isWhole).toBe(true)
    })
  )

  it("needs no runtime of its own: a plain script can run it", () => {
    const recording = Effect.runSync(Simulation.run({ turns: [[pause(3_600_000), say("hi")]] }))
    expect([recording.end?.at, Recording.reasonOf(recording)]).toEqual([3_600_000, "completed"])
  })

  it.effect("goes call by call, and stays with what it said last", () =>
    Effect.gen(function* () {
      const recording = yield* Simulation.run({
        turns: [[call("a", {}, "1"), call("a", {}, "2"), call("a", {}, "3")], [say("done")]],
        tools: [{ name: "a", calls: [[{ type: "succeed", text: "first" }], [{ type: "fail", message: "later" }]] }]
      })
      expect(resultsOf(recording)).toEqual(["first", "later", "later"])
    })
  )

  it.effect("gives the messages of a queue from their instant on", () =>
    Effect.gen(function* () {
      const recording = yield* Simulation.run({
        turns: [[pause(10), call("nobody")], [pause(10), say("one")], [say("two")]],
        queues: {
          steering: [
            { at: 15, text: "second" },
            { at: 0, text: "first" }
          ],
          followUp: [{ at: 99, text: "never" }]
        }
      })
      const told = Recording.messagesOf(recording).filter(({ role }) => role === "user")
      expect(told).toEqual([user("go", 0), user("first", 0), user("second", 15)])
    })
  )

  it.effect("decides what hooks do", () =>
    Effect.gen(function* () {
      const recording = yield* Simulation.run({
        turns: [[call("a", {}, "1"), call("a", {}, "2")], [say("never")]],
        tools: [{ name: "a" }],
        hooks: {
          transformContext: [[{ type: "append", text: "remember" }]],
          beforeToolCall: [[{ type: "block", reason: "not now" }], []],
          afterToolCall: [[{ type: "override", text: "changed" }]],
          shouldStopAfterTurn: [[{ type: "stop" }]]
        }
      })
      expect(recording.requests.map(({ request }) => request.messages.at(-1))).toMatchObject([{ content: "remember" }])
      expect([resultsOf(recording), Recording.reasonOf(recording)]).toEqual([["not now", "changed"], "stopped"])
    })
  )

  it.effect("asks again for what failed", () =>
    Effect.gen(function* () {
      const recording = yield* Simulation.run({
        turns: [[failing("busy", true)], [say("hi")]],
        hooks: { retry: [[{ type: "again", ms: 30 }]] }
      })
      expect(recording.requests.map(({ at }) => at)).toEqual([0, 30])
      expect(lines(recording, "timer")).toEqual(["0 > timer sleep", "30 < timer sleep: done"])
    })
  )
})

describe("what does not end", () => {
  it.effect("is stopped when nothing else would happen any more", () =>
    Effect.gen(function* () {
      const recording = yield* Simulation.run(oneTool(wait(20), { type: "stall" }))
      expect(recording.stop).toMatchObject({ how: "abort", isRescue: true, asked: { at: 20 } })
      expect([recording.end?.at, Recording.reasonOf(recording)]).toEqual([20, "aborted"])
    })
  )

  it.effect("and hears no interrupt is left behind, and seen to end when it comes loose", () =>
    Effect.gen(function* () {
      const recording = yield* Simulation.run({
        ...oneTool({ type: "deaf", ms: 60 }, wait(1)),
        limits: { gracePeriodMs: 10 },
        consumer: { acts: [{ type: "abort", when: { ms: 5 } }] }
      })
      expect(lines(recording, "tool a", "tool_execution_end", "!", "aborted")).toEqual([
        "0 > tool a a",
        "5 ! abort",
        "15 tool_execution_end a a",
        "15 agent_end aborted",
        "60 < tool a a: interrupted"
      ])
      expect(recording.aliveAtEnd.activities).toHaveLength(1)
      expect(recording.aliveLater).toEqual({ fibers: 0, timers: 0, activities: [] })
    })
  )

  it.effect("and never comes loose is known to be alive", () =>
    Effect.gen(function* () {
      const { aliveLater, activities } = yield* Simulation.run(oneTool({ type: "deaf" }))
      expect(aliveLater.activities.map((id) => activities[id]?.kind)).toEqual(["tool"])
      expect(aliveLater.fibers).toBeGreaterThan(0)
    })
  )

  it.effect("finalizers take their time", () =>
    Effect.gen(function* () {
      const recording = yield* Simulation.run({
        ...oneTool({ type: "finalizer", ms: 30 }, { type: "stall" }),
        consumer: { acts: [{ type: "abort", when: { ms: 5 } }] }
      })
      expect(lines(recording, "finalizer")).toEqual(["5 > finalizer a a", "35 < finalizer a a: done"])
      expect(recording.end?.at).toBe(35)
    })
  )

  it.effect("what ignores interrupts goes on to its end, and is interrupted there", () =>
    Effect.gen(function* () {
      const recording = yield* Simulation.run({
        ...oneTool({ type: "uninterruptible" }, wait(30), wait(30)),
        consumer: { acts: [{ type: "abort", when: { ms: 5 } }] }
      })
      expect(lines(recording, "tool a")).toEqual(["0 > tool a a", "60 < tool a a: interrupted"])
    })
  )

  it.effect("what a tool leaves behind sends its update when nobody waits for it any more", () =>
    Effect.gen(function* () {
      const recording = yield* Simulation.run(oneTool({ type: "late", ms: 40, text: "late" }))
      expect(recording.end?.at).toBe(0)
      expect(lines(recording, "straggler", "update a")).toEqual([
        "0 > straggler a a",
        "40 > update a a",
        "40 < update a a: done",
        "40 < straggler a a: done"
      ])
    })
  )
})

describe("the reader", () => {
  const turns: World["turns"] = [[pause(10), say("hi"), pause(10)]]
  const read = (consumer: World["consumer"]) => Simulation.run({ turns, consumer: consumer! })

  it.effect("takes its time", () =>
    Effect.gen(function* () {
      const slow = yield* read({ slowMs: 3, pauses: [{ event: 1, ms: 100 }] })
      expect(slow.end?.at).toBe(20 + 100 + 3 * slow.events.length)
    })
  )

  it.effect("aborts at an event, at an instant, deep in the run", () =>
    Effect.gen(function* () {
      const atEvent = yield* read({ acts: [{ type: "abort", when: { event: 4 } }] })
      expect(atEvent.stop?.asked).toEqual({ at: 10, position: atEvent.events[4]!.position + 1 })
      const atInstant = yield* read({ acts: [{ type: "abort", when: { ms: 4 } }] })
      expect([atInstant.end?.at, Recording.reasonOf(atInstant)]).toEqual([4, "aborted"])
      const deep = yield* read({ acts: [{ type: "abort", when: { entry: 6 } }] })
      expect(deep.stop?.asked.position).toBe(7)
      expect([atEvent, atInstant, deep].map(({ isWhole }) => isWhole)).toEqual([true, true, true])
    })
  )

  it.effect("leaves, dies, has enough", () =>
    Effect.gen(function* () {
      const left = yield* read({ acts: [{ type: "leave", when: { ms: 4 } }] })
      const died = yield* read({ acts: [{ type: "die", event: 2 }] })
      const taken = yield* read({ acts: [{ type: "take", count: 2 }] })
      expect([left, died, taken].map(({ events }) => events.length)).toEqual([4, 3, 2])
      expect([left, died, taken].map(({ isWhole, stop }) => [isWhole, stop?.how])).toEqual([
        [false, "leave"],
        [false, "die"],
        [false, "take"]
      ])
    })
  )
})

describe("the order of fibers", () => {
  const race: World = {
    turns: [[call("a"), call("b")], [say("done")]],
    tools: [
      { name: "a", calls: [[wait(10)]] },
      { name: "b", calls: [[wait(10)]] }
    ]
  }
  const winner = (world: World) =>
    Effect.map(
      Simulation.run(world),
      (recording) => Recording.eventsOf(recording, "tool_execution_end")[0]?.event.toolName
    )

  it.effect("is that of Effect without a seed", () =>
    Effect.gen(function* () {
      expect([yield* winner(race), yield* winner(race)]).toEqual(["a", "a"])
    })
  )

  it.effect("is another one with another seed, and the same with the same", () =>
    Effect.gen(function* () {
      const seeds = Array.from({ length: 20 }, (_, seed) => seed)
      const winners = yield* Effect.forEach(seeds, (seed) => winner({ ...race, seed }))
      expect(new Set(winners)).toEqual(new Set(["a", "b"]))
      expect(yield* Effect.forEach(seeds, (seed) => winner({ ...race, seed }))).toEqual(winners)
    })
  )

  it.effect("with a seed, fibers let others run at any of their steps", () =>
    Effect.gen(function* () {
      const steps: Array<string> = []
      const tool = (name: string) =>
        Tool.make({
          name,
          description: "Takes three steps.",
          parameters: Schema.Struct({}),
          execute: () =>
            Effect.as(
              Effect.repeat(
                Effect.sync(() => steps.push(name)),
                { times: 2 }
              ),
              "ok"
            )
        })
      const orders = new Set<string>()
      for (let seed = 0; seed < 60; seed++) {
        steps.length = 0
        yield* Simulation.run({ turns: race.turns, seed }, { tools: [tool("a"), tool("b")] })
        orders.add(steps.join(""))
      }
      expect([...orders]).toEqual(expect.arrayContaining(["aaabbb", "bbbaaa"]))
      expect(orders.size).toBeGreaterThan(4)
    })
  )
})

it.effect("a reader that was made to wait as it asked for more is not thought to hear an abort at once", () =>
  Effect.gen(function* () {
    const world: World = { turns: [[call("a")]], tools: [{ name: "a" }], consumer: { slowMs: 1 } }
    for (let seed = 0; seed < 600; seed++) {
      const { log, activities } = yield* Simulation.run({ ...world, seed })
      const entry = log.findIndex((one) => one.type === "begin" && activities[one.activity]!.kind === "tool")
      const consumer = { slowMs: 1, acts: [{ type: "abort", when: { entry } } as const] }
      yield* Faults.verify(Faults.check({ ...world, seed, consumer }))
    }
  })
)

// ---------------------------------------------------------------------------------------------------------------------
// Real code
// ---------------------------------------------------------------------------------------------------------------------

class Stations extends Context.Service<Stations, { readonly ask: (city: string) => Effect.Effect<string> }>()(
  "Stations"
) {}

const Weather = Tool.make({
  name: "weather",
  description: "The weather of a city.",
  parameters: Schema.Struct({ city: Schema.String }),
  execute: ({ city }, { update }) =>
    Effect.gen(function* () {
      yield* update("asking")
      const { ask } = yield* Stations
      return yield* ask(city)
    })
})

const asked: World = { turns: [[call("weather", { city: "Oslo" })], [say("done")]] }

describe("real tools and hooks", () => {
  it.effect("run on the clock of the world, with the services that they need", () =>
    Effect.gen(function* () {
      const recording = yield* Simulation.run(asked, { tools: [Weather], systemPrompt: "Be brief." }).pipe(
        Effect.provideService(Stations, { ask: (city) => Effect.delay(Effect.succeed(`Sunny in ${city}`), "1 minute") })
      )
      expect(resultsOf(recording)).toEqual(["Sunny in Oslo"])
      expect(recording.end?.at).toBe(60_000)
      expect(recording.requests[0]?.request).toMatchObject({ systemPrompt: "Be brief.", tools: [{ name: "weather" }] })
      expect(lines(recording, "> tool", "> update")).toEqual(["0 > tool weather weather", "0 > update weather weather"])
    })
  )

  it.effect("may wait for promises", () =>
    Effect.gen(function* () {
      const ask = (city: string) =>
        Effect.promise(() => Promise.resolve(city).then((name) => Promise.resolve(`Rain in ${name}`)))
      const recording = yield* Simulation.run(asked, { tools: [Weather] }).pipe(
        Effect.provideService(Stations, { ask })
      )
      expect([resultsOf(recording), Recording.reasonOf(recording)]).toEqual([["Rain in Oslo"], "completed"])
    })
  )

  it.effect("hooks are asked before those of the world, and are in the log", () =>
    Effect.gen(function* () {
      const world: World = { ...asked, tools: [{ name: "weather" }], hooks: { afterToolCall: [[wait(5)]] } }
      const recording = yield* Simulation.run(world, {
        hooks: { afterToolCall: () => Effect.delay(Effect.succeed({ details: { seen: true } }), 3) }
      })
      expect(lines(recording, "afterToolCall")).toEqual([
        "0 > hook afterToolCall weather",
        "3 < hook afterToolCall weather: done",
        "3 > hook afterToolCall weather",
        "8 < hook afterToolCall weather: done"
      ])
      expect(Recording.messagesOf(recording)).toContainEqual(expect.objectContaining({ details: { seen: true } }))
    })
  )

  it.effect("what they leak is found", () =>
    Effect.gen(function* () {
      const leaky = (execute: Effect.Effect<unknown>) =>
        Tool.make({
          name: "weather",
          description: "Leaks.",
          parameters: Schema.Struct({}),
          execute: () => Effect.as(execute, "ok")
        })
      const check = (execute: Effect.Effect<unknown>) =>
        Effect.map(Faults.check({ turns: asked.turns }, { tools: [leaky(execute)] }), ({ failures }) =>
          failures.flatMap(({ broken }) => broken.map(({ what }) => what))
        )
      expect(yield* check(Effect.sleep(5))).toEqual([])
      expect(yield* check(Effect.forkDetach(Effect.never))).toEqual([
        "1 fiber is alive at the end",
        "1 fiber is alive long after the end"
      ])
      expect(yield* check(Effect.forkDetach(Effect.sleep(5)))).toEqual(["1 fiber is alive at the end"])
    })
  )

  it.effect("a tool that throws, or gives nothing, is a result like any other", () =>
    Effect.gen(function* () {
      const broken = { ...Weather, execute: () => JSON.parse("{") as Effect.Effect<string> }
      const { failures } = yield* Effect.provideService(Faults.check(asked, { tools: [broken] }), Stations, {
        ask: Effect.succeed
      })
      expect(failures.map(Faults.show)).toEqual([])
    })
  )

  it.effect("keep every promise wherever the reader is at fault", () =>
    Effect.gen(function* () {
      const { failures, runs } = yield* Faults.everywhere(asked, { tools: [Weather] }).pipe(
        Effect.provideService(Stations, { ask: (city) => Effect.delay(Effect.succeed(city), 20) })
      )
      expect(failures.map(Faults.show)).toEqual([])
      expect(runs).toBeGreaterThan(100)
    })
  )
})
