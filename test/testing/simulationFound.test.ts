// Faults that the simulation has found in the loop, each as the smallest world that showed it. They must not come back.
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Faults from "../../src/testing/Faults.ts"
import type { World } from "../../src/testing/World.ts"
import { call, failing, say } from "../support/make.ts"

const found: Record<string, World> = {
  "an update that was sent right before the end came after the hook afterToolCall": {
    turns: [[call("a")], [say("done")]],
    tools: [{ name: "a", calls: [[{ type: "update", text: "so far" }]] }],
    hooks: { afterToolCall: [[]] }
  },
  "a call that waited for its resource was executed after the abort": {
    turns: [[call("a", {}, "1"), call("a", {}, "2")]],
    tools: [{ name: "a", calls: [[{ type: "stall" }]], exclusive: { resource: "file" } }],
    consumer: { acts: [{ type: "abort", when: { ms: 10 } }] }
  },
  "a call was executed after the abort while its resource was still in use": {
    turns: [[call("a", {}, "1"), call("a", {}, "2"), call("a", {}, "3")]],
    tools: [{ name: "a", calls: [[{ type: "deaf", ms: 60 }]], exclusive: { resource: "file" } }],
    consumer: { acts: [{ type: "abort", when: { ms: 10 } }] }
  },
  "a call that aborts the run in its first step went on after the end": {
    turns: [[call("b", {}, "1"), call("c", {}, "2"), call("a", {}, "3")]],
    tools: [
      { name: "a", calls: [[{ type: "finalizer", ms: 20 }, { type: "abort" }, { type: "stall" }]] },
      { name: "b", calls: [[{ type: "wait", ms: 1 }]] },
      { name: "c", calls: [[{ type: "wait", ms: 10 }]] }
    ],
    limits: { concurrency: 2 }
  }
}

/** In some orders of fibers, the grace period ended while the wait that it was for had ended, and its fiber not gone on. */
const twoOwners: ReadonlyArray<World> = [
  {
    turns: [[say("hi")]],
    hooks: { transformContext: [] },
    consumer: { slowMs: 1, acts: [{ type: "abort", when: { ms: 2 } }] }
  },
  { turns: [[{ type: "stall" }]], consumer: { acts: [{ type: "abort", when: { ms: 5 } }] } }
]

const expectKept = (world: World) =>
  Effect.map(Faults.check(world), ({ failures }) => {
    expect(failures.map(Faults.show)).toEqual([])
  })

/** False alarms of the simulation, which are as bad. */
const falseAlarms: Record<string, World> = {
  "a run that a close left behind when it had taken a queued message in": {
    turns: [[call("", {}, ""), { type: "error", reason: "overloaded", message: "", retryable: true }], []],
    hooks: { retry: [[{ type: "again", ms: 1 }]] },
    arrays: 1,
    limits: { gracePeriodMs: 0 },
    seed: 691204,
    queues: { followUp: [{ at: 0, text: "" }] },
    agent: { commands: [{ when: { event: 12 }, does: "close" }] }
  },
  "an abort that met a reader made to wait, which then had to wait again": {
    turns: [
      [call("b", {}, ""), { type: "toolCall", id: "", name: "c", arguments: { n: "3" }, chunk: 2 }, call("b", {}, "")]
    ],
    tools: [
      {
        name: "b",
        calls: [
          [
            { type: "update", text: "" },
            { type: "late", ms: 0, text: "" },
            { type: "update", text: "" }
          ]
        ]
      },
      { name: "c", calls: [[{ type: "late", ms: 1, text: "" }]] }
    ],
    hooks: { beforeToolCall: [], resolveApiKey: [[{ type: "wait", ms: 0 }]], steering: [] },
    seed: 7,
    consumer: { acts: [{ type: "abort", when: { entry: 52 } }] }
  },
  "a watcher that began when a receipt said that its message was delivered, before the listener was told": {
    turns: [[failing("no")], [say("done")]],
    agent: {
      commands: [
        { when: { entry: 5 }, does: "followUp" },
        { when: { entry: 29 }, does: "watch" }
      ]
    }
  },
  "a prompt that was left before its run began, and an agent that was closed then": {
    turns: [],
    consumer: { acts: [{ type: "leave", when: { step: 11 } }] },
    seed: 140091,
    agent: { commands: [{ when: { entry: 1 }, does: "close" }] }
  },
  "a prompt that was left before its run began, in whose place another one began": {
    turns: [],
    hooks: { transformContext: [[{ type: "wait", ms: 1 }]], resolveApiKey: [] },
    seed: 593839,
    consumer: { acts: [{ type: "leave", when: { step: 88 } }] },
    agent: { commands: [{ when: { ms: 0 }, does: "prompt" }] }
  },
  "a hook before a request of which a fiber that was left behind came loose, when the run was over": {
    turns: [],
    hooks: { steering: [], convertToLlm: [] },
    limits: { gracePeriodMs: 0 },
    seed: 135023,
    consumer: { acts: [{ type: "abort", when: { entry: 6 } }] }
  },
  "a grace period that began before the first event of a prompt that was left": {
    turns: [],
    seed: 999983,
    consumer: { acts: [{ type: "leave", when: { entry: 0 } }] },
    agent: { commands: [{ when: { step: 6 }, does: "followUp" }] }
  }
}

/** The reader was still on the stack: the run could not know of the abort when the call ended. */
const onTheStack: World = {
  turns: [
    [call("a", {}, ""), { type: "toolCall", id: "", name: "", arguments: { n: 0 }, chunk: 2 }],
    [
      call("a", {}, ""),
      { type: "toolCall", id: "", name: "b", arguments: {}, chunk: 1 },
      { type: "wait", ms: 0 },
      { type: "wait", ms: 0 }
    ]
  ],
  tools: [{ name: "a" }, { name: "b", sequential: true }],
  hooks: {
    steering: [
      [
        { type: "finalizer", ms: 0 },
        { type: "wait", ms: 0 }
      ]
    ],
    transformContext: [],
    shouldStopAfterTurn: [
      [
        { type: "deaf", ms: 0 },
        { type: "wait", ms: 0 }
      ]
    ],
    resolveApiKey: [
      [{ type: "wait", ms: 0 }],
      [
        { type: "wait", ms: 0 },
        { type: "wait", ms: 0 }
      ]
    ]
  },
  consumer: { slowMs: 1, acts: [{ type: "abort", when: { entry: 152 } }] },
  seed: 483018,
  prompts: []
}

describe("no promise is broken by", () => {
  for (const [name, world] of Object.entries(falseAlarms)) {
    it.effect(name, () => expectKept(world))
  }

  it.effect("a prompt that is left at any step, also before its run has begun", () =>
    Effect.forEach(Array.from({ length: 140 }).keys(), (step) =>
      expectKept({ turns: [], seed: 235270, consumer: { acts: [{ type: "leave", when: { step } }] }, agent: {} })
    )
  )

  it.effect("a watcher that begins at any step, also between the last event and its listener", () =>
    Effect.forEach(Array.from({ length: 60 }).keys(), (step) =>
      expectKept({ turns: [[say("hi")]], seed: 18, agent: { commands: [{ when: { step }, does: "watchLate" }] } })
    )
  )
})

describe("found by the simulation", () => {
  for (const [name, world] of Object.entries(found)) {
    it.effect(name, () => expectKept(world))
  }

  it.effect("a call that ended before the run could know of the abort was to have another result", () =>
    expectKept(onTheStack)
  )

  it.effect("two fibers drove the run when the grace period ended just as a wait did", () =>
    Effect.forEach(twoOwners, (world) =>
      Effect.forEach(Array.from({ length: 300 }).keys(), (seed) =>
        expectKept({ ...world, prompts: [], limits: { gracePeriodMs: 0 }, seed })
      )
    )
  )
})
