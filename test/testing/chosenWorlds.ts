// Fifty worlds, each of which shows one thing that can go wrong for an agent, and a few in which much happens at once.
import type { World } from "../../src/testing/World.ts"
import { call, failing, pause, rawCall, say, user } from "../support/make.ts"

type Tool = NonNullable<World["tools"]>[number]
type Steps = NonNullable<Tool["calls"]>[number]

const wait = (ms: number) => ({ type: "wait", ms }) as const
const deaf = (ms?: number) => (ms === undefined ? ({ type: "deaf" } as const) : ({ type: "deaf", ms } as const))
const finalizer = (ms?: number) =>
  ms === undefined ? ({ type: "finalizer" } as const) : ({ type: "finalizer", ms } as const)
const stall = { type: "stall" } as const
const dies = { type: "die", message: "it dies" } as const
const update = (text: string, times = 1) => ({ type: "update", text, times }) as const
const ends = { type: "succeed", terminate: true } as const

/** A tool that does these steps each time that it is called. */
const tool = (name: string, ...steps: Steps): Tool => ({ name, calls: [steps] })

/** A world in which the model makes these calls, then says that it is done. */
const calling = (names: ReadonlyArray<string>, ...tools: ReadonlyArray<Tool>): World => ({
  turns: [names.map((name, index) => call(name, {}, `${index + 1}`)), [say("done")]],
  tools
})

const abc = ["a", "b", "c"]
const three = [tool("a", wait(30)), tool("b", wait(10)), tool("c", update("so far"), wait(20), update("almost"))]

const provider: Record<string, World> = {
  "one response": { turns: [[say("hello")]] },
  "a response in pieces": {
    turns: [[pause(5), say("hello", 2), pause(5), { type: "thinking", text: "hmm", chunk: 1 }, pause(5), say("bye")]],
    arrays: 1
  },
  "a response that stalls after some text": { turns: [[say("so far"), stall]] },
  "a provider that hears nothing for a minute": { turns: [[say("so far"), deaf(60_000), say("more")]] },
  "a provider that never hears anything": { turns: [[say("so far"), deaf()]] },
  "a connection that is slow to close": { turns: [[finalizer(300), say("so far"), pause(50), say("more")]] },
  "a connection that never closes, and one that dies as it does": {
    turns: [[finalizer(), { ...finalizer(5), dies: true }, say("so far"), stall]]
  },
  "a stream that ends without a word": { turns: [[say("so far"), { type: "cut" }]] },
  "a stream that dies": { turns: [[call("a"), say("so far"), dies]], tools: three },
  "a stream that makes no sense": {
    turns: [[say("a"), { type: "text_delta", contentIndex: 7, delta: "x" }, say("b")]]
  },
  "a failure that does not go away": { turns: [[failing("no")]], hooks: { retry: [[{ type: "again", ms: 10 }]] } },
  "two failures, then an answer": {
    turns: [[say("so far"), failing("no", true)], [pause(3), failing("no", true)], [say("done")]],
    hooks: { retry: [[{ type: "again", ms: 100 }], [wait(4), { type: "again", ms: 1000 }]], transformContext: [[]] }
  },
  "failures for which nothing is tried any more": {
    turns: [[failing("no", true)], [failing("no", true)], [say("never")]],
    hooks: { retry: [[{ type: "again", ms: 0 }], []] }
  },
  "a retry policy that stalls": { turns: [[failing("no", true)]], hooks: { retry: [[wait(5), stall]] } },
  "a key that takes its time": { ...calling(["a"], tool("a")), hooks: { resolveApiKey: [[wait(20)], [deaf(20)]] } }
}

const tools: Record<string, World> = {
  "three calls side by side": calling(abc, ...three),
  "three calls in turn": { ...calling(abc, ...three), limits: { toolExecution: "sequential" } },
  "a sequential tool among others": calling(abc, ...three.slice(0, 2), { ...three[2]!, sequential: true }),
  "two at a time": { ...calling([...abc, "a"], ...three), limits: { concurrency: 2 } },
  "calls that share a resource": calling(
    ["a", "b", "a", "c"],
    { ...tool("a", wait(20)), exclusive: { resource: "file", steps: [wait(1)] } },
    { ...tool("b", wait(10)), exclusive: { resource: "file" } },
    tool("c", wait(5))
  ),
  "a call that never ends": calling(abc, tool("a", stall), tool("b", wait(10)), tool("c", wait(20), stall)),
  "a call that hears nothing for a minute": calling(
    abc,
    tool("a", deaf(60_000)),
    tool("b", wait(10)),
    tool("c", stall)
  ),
  "a call that never hears anything": calling(["a", "b"], tool("a", deaf()), tool("b", wait(10))),
  "a call that goes on as if nothing had happened": calling(
    ["a", "b"],
    tool("a", { type: "uninterruptible" }, wait(50), update("still here"), wait(50)),
    tool("b", wait(20))
  ),
  "calls that are slow to end": calling(
    ["a", "b"],
    tool("a", finalizer(300), wait(20)),
    tool("b", finalizer(40), stall)
  ),
  "a finalizer that never ends, and one that dies": calling(
    ["a", "b"],
    tool("a", finalizer(), wait(20), stall),
    tool("b", { ...finalizer(5), dies: true }, wait(20))
  ),
  "every kind of failure": calling(
    ["a", "b", "c", "d", "e", "nobody"],
    tool("a", wait(5), { type: "fail", message: "it fails" }),
    tool("b", dies),
    tool("c", { type: "nothing" }),
    tool("d", { type: "interrupt" }),
    { ...tool("e"), failsToPrepare: true }
  ),
  "arguments that do not fit": {
    turns: [[call("a", { n: "x" }, "1"), rawCall("a", '{"n":', "2"), call("a", { n: "3" }, "3")], [say("done")]],
    tools: three
  },
  "calls that are cut off": {
    turns: [[call("a", {}, "1"), rawCall("b", '{"n', "2"), { type: "done", reason: "length" }], [say("done")]],
    tools: three
  },
  "more updates than a slow reader can take": {
    ...calling(["a", "b"], tool("a", update("more", 20), wait(10)), tool("b", wait(5), update("other", 6))),
    consumer: { slowMs: 3 }
  },
  "updates after the end": calling(
    ["a", "b"],
    tool("a", { type: "late", ms: 10, text: "too late" }, wait(5)),
    tool("b", { type: "late", ms: 3, text: "in time" }, wait(30))
  ),
  "all calls ask for the end": calling(["a", "b"], tool("a", ends), tool("b", wait(5), ends)),
  "one call asks for the end": calling(["a", "b"], tool("a", ends), tool("b", wait(5))),
  "a call that aborts the run": calling(abc, tool("a", wait(10), { type: "abort" }, wait(10)), ...three.slice(1)),
  "ids that were used before": {
    turns: [[call("a", {}, "1"), call("b", {}, "1")], [call("a", {}, "1")], [say("done")]],
    tools: three
  }
}

const hooks: Record<string, World> = {
  "hooks that take their time": {
    ...calling(["a", "b"], ...three),
    hooks: {
      transformContext: [[wait(3)]],
      convertToLlm: [[wait(3)]],
      beforeToolCall: [[wait(3)]],
      afterToolCall: [[wait(3)]],
      prepareNextTurn: [[wait(3)]],
      shouldStopAfterTurn: [[wait(3)]],
      steering: [[wait(3)]],
      followUp: [[wait(3)]]
    }
  },
  "hooks that decide": {
    ...calling(abc, ...three),
    hooks: {
      transformContext: [[{ type: "append", text: "remember" }]],
      beforeToolCall: [[{ type: "allow", arguments: { n: 7 } }], [{ type: "block", reason: "not allowed" }], []],
      afterToolCall: [[{ type: "override", text: "hidden", isError: true }], [wait(2)]],
      prepareNextTurn: [[{ type: "next", systemPrompt: "Be brief.", model: "other", thinkingLevel: "high" }]]
    }
  },
  "a hook before each request that dies": { ...calling(["a"], ...three), hooks: { transformContext: [[], [dies]] } },
  "tool hooks that die": {
    ...calling(["a", "b"], ...three),
    hooks: { beforeToolCall: [[dies], []], afterToolCall: [[dies]] }
  },
  "tool hooks that hear nothing": {
    ...calling(["a", "b"], ...three),
    hooks: { beforeToolCall: [[deaf(8)]], afterToolCall: [[deaf(60_000)]] }
  },
  "a hook that aborts the run": { ...calling(["a"], ...three), hooks: { beforeToolCall: [[{ type: "abort" }]] } },
  "a hook after the turn that dies": { ...calling(["a"], ...three), hooks: { prepareNextTurn: [[dies]] } },
  "a stop after the first turn": {
    ...calling(["a"], ...three),
    hooks: { shouldStopAfterTurn: [[{ type: "stop" }]] },
    queues: { steering: [{ at: 0, text: "never taken" }], followUp: [] }
  },
  "a turn limit": {
    ...calling(["a"], ...three),
    limits: { maxTurns: 1 },
    queues: { steering: [], followUp: [{ at: 0, text: "never taken" }] }
  },
  "messages at any time": {
    turns: [[pause(10), call("a")], [pause(10), say("one")], [pause(10), say("two")], [say("three")], [say("four")]],
    tools: three,
    queues: {
      steering: [
        { at: 0, text: "wait" },
        { at: 15, text: "stop" },
        { at: 55, text: "seen", role: "notice" }
      ],
      followUp: [
        { at: 1, text: "and now" },
        { at: 1, text: "this" }
      ]
    }
  },
  "polls that go wrong": {
    ...calling(["a"], ...three),
    queues: {
      steering: [
        { at: 0, text: "first" },
        { at: 5, text: "second" }
      ]
    },
    hooks: { steering: [[wait(2)], [deaf(7)], [dies]] }
  },
  "a poll that stalls": { ...calling(["a"], ...three), hooks: { followUp: [[wait(1), stall]] } }
}

const much: World = {
  messages: [user("before")],
  turns: [
    [pause(2), say("let me see"), call("a", {}, "1"), call("b", {}, "1"), call("c", { n: "7" }, "2")],
    [pause(1), failing("busy", true)],
    [finalizer(3), say("done")]
  ],
  tools: [
    { name: "a", calls: [[update("x", 2), finalizer(4), wait(6)]] },
    { name: "b", calls: [[{ type: "uninterruptible" }, wait(8), dies]], exclusive: { resource: "r" } },
    { name: "c", calls: [[{ type: "late", ms: 30, text: "late" }, deaf(9)]], exclusive: { resource: "r" } }
  ],
  hooks: {
    beforeToolCall: [[wait(1)], []],
    afterToolCall: [[wait(2)], [{ type: "override", isError: false }]],
    retry: [[{ type: "again", ms: 20 }]]
  },
  queues: { steering: [{ at: 9, text: "also" }] }
}

/** Each with the order of fibers as Effect takes it, the last ones in orders of their own. */
export const chosenWorlds: Record<string, World> = {
  ...provider,
  ...tools,
  ...hooks,
  "much at once": much,
  "much at once, with little patience": { ...much, limits: { gracePeriodMs: 5 } },
  "much at once, in another order": { ...much, seed: 3 }
}
