// The agent as callers without Effect hold it: what its promises settle to, how its streams end, and that nothing rejects
// unheard. Runs are played from scripts; nothing here waits for time.
import { afterEach, beforeAll, describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import { getEventListeners } from "node:events"
import { setImmediate as nextTask } from "node:timers/promises"
import * as Agent from "../src/Agent.ts"
import type { AgentEvent } from "../src/AgentEvent.ts"
import { fromLayer, make, type Options, type PromiseAgent } from "../src/promise.ts"
import * as Scripted from "../src/providers/Scripted.ts"
import { Provider } from "../src/services/Provider.ts"
import { DuplicateTool, Toolset } from "../src/services/Toolset.ts"
import * as TraceChecker from "../src/testing/TraceChecker.ts"
import { call, model, say, tool, user } from "./support/make.ts"

const stall: Scripted.Step = { type: "stall" }

const start = async (turns: ReadonlyArray<Scripted.Turn>, over: Partial<Options<never, DuplicateTool>> = {}) => {
  const provider = Effect.runSync(Scripted.make({ turns }))
  const agent = await make({ model, provider: Layer.succeed(Provider, provider), ...over })
  const events: Array<AgentEvent> = []
  agent.subscribe((event) => void events.push(event))
  return { agent, provider, events }
}

/** An agent whose first run waits in a tool until it may go on. */
const startHeld = async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const held = tool("t", () =>
    Effect.as(
      Effect.promise(() => promise),
      "done"
    )
  )
  return { ...(await start([[call("t")], [say("a")]], { tools: Toolset.layer(held) })), go: resolve }
}

/** Resolves when the agent tells an event that passes. */
const told = (agent: PromiseAgent, passes: (event: AgentEvent) => boolean): Promise<AgentEvent> =>
  new Promise((resolve) => agent.subscribe((event) => (passes(event) ? resolve(event) : undefined)))

const isDelta = (event: AgentEvent): boolean =>
  event.type === "message_update" && event.assistantMessageEvent.type === "text_delta"

const read = async (stream: AsyncIterable<AgentEvent>): Promise<ReadonlyArray<AgentEvent>> => {
  const events: Array<AgentEvent> = []
  for await (const event of stream) events.push(event)
  return events
}

const reject = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    (value) => expect.fail(`resolved to ${JSON.stringify(value)}`),
    (error: unknown) => error
  )

const lastOf = <A>(all: ReadonlyArray<A>): A | undefined => all.at(-1)

const unheard: Array<unknown> = []

beforeAll(() => {
  process.on("unhandledRejection", (reason) => unheard.push(reason))
})

afterEach(async () => {
  await nextTask()
  expect(unheard).toEqual([])
})

describe("prompt", () => {
  it("resolves with what came of the run", async () => {
    const { agent, events } = await start([[call("t")], [say("Done.")]], { tools: Toolset.layer(tool("t")) })
    const result = await agent.prompt("go")
    expect(result).toMatchObject({ reason: "completed", text: "Done." })
    expect(result.messages.map(({ role }) => role)).toEqual(["user", "assistant", "toolResult", "assistant"])
    expect(agent.state().messages).toEqual(result.messages)
    expect(TraceChecker.check(events)).toEqual(Option.none())
  })

  it("rejects with the busy error itself while a run goes on, which is left alone", async () => {
    const { agent, go } = await startHeld()
    const [first, second] = [agent.prompt("one"), reject(agent.prompt("two"))]
    expect(await second).toBeInstanceOf(Agent.AgentBusy)
    go()
    expect(await first).toMatchObject({ reason: "completed", text: "a" })
    expect(agent.state().messages.filter(({ role }) => role === "user")).toHaveLength(1)
  })

  it("starts nothing with a signal that is aborted already", async () => {
    const { agent, provider, events } = await start([[say("a")]])
    const result = await agent.prompt("go", { signal: AbortSignal.abort() })
    expect(result).toMatchObject({ reason: "aborted", messages: [], text: "" })
    expect([provider.requests, events, agent.state().messages]).toEqual([[], [], []])
    expect(await agent.prompt("again")).toMatchObject({ reason: "completed", text: "a" })
  })

  it("is aborted by its signal, and resolves with what there was", async () => {
    const { agent, provider, events } = await start([[say("half"), stall]])
    const { signal, ...controller } = withSignal()
    const halfway = told(agent, isDelta)
    const result = agent.prompt("go", { signal })
    await halfway
    controller.abort()
    expect(await result).toMatchObject({ reason: "aborted", text: "half" })
    expect(TraceChecker.check(events)).toEqual(Option.none())
    expect(provider.streams).toEqual({ opened: 1, closed: 1 })
    expect(getEventListeners(signal, "abort")).toEqual([])
  })

  it("is aborted by a signal that a listener of its first event aborts", async () => {
    const { agent, provider } = await start([[say("a")]])
    const { signal, ...controller } = withSignal()
    agent.subscribe(({ type }) => (type === "agent_start" ? controller.abort() : undefined))
    expect(await agent.prompt("go", { signal })).toMatchObject({ reason: "aborted" })
    expect(provider.requests).toEqual([])
  })

  it("leaves later runs alone when its signal is aborted after its end", async () => {
    const { agent } = await start([[say("a")], [say("b")]], { continueWhenQueued: true })
    const { signal, ...controller } = withSignal()
    agent.subscribe((event) => {
      if (event.type === "agent_end" && agent.state().messages.length === 2) agent.followUp(user("more"))
      if (event.type === "agent_start" && agent.state().messages.length > 0) controller.abort()
    })
    expect(await agent.prompt("go", { signal })).toMatchObject({ reason: "completed", text: "a" })
    await agent.waitForIdle()
    expect(lastOf(agent.state().messages)).toMatchObject({ role: "assistant", stopReason: "stop" })
    expect(agent.state().messages).toHaveLength(4)
    expect(getEventListeners(signal, "abort")).toEqual([])
  })

  it("leaves a run alone that refused it, when its signal is aborted", async () => {
    const { agent } = await start([[say("a"), stall]])
    const { signal, ...controller } = withSignal()
    const first = agent.prompt("one")
    expect(await reject(agent.prompt("two", { signal }))).toBeInstanceOf(Agent.AgentBusy)
    controller.abort()
    expect(agent.state().isStreaming).toBe(true)
    agent.abort()
    expect(await first).toMatchObject({ reason: "aborted" })
  })

  it("takes a limit and hooks for its run", async () => {
    const { agent } = await start([[call("t")], [call("t")], [say("end")]], { tools: Toolset.layer(tool("t")) })
    const blocked = { beforeToolCall: () => Effect.succeed({ _tag: "Block" as const, reason: "no" }) }
    const result = await agent.prompt("go", { maxTurns: 1, hooks: blocked })
    expect(result).toMatchObject({ reason: "limit" })
    expect(lastOf(result.messages)).toMatchObject({ isError: true, content: [{ type: "text", text: "no" }] })
  })
})

describe("stream", () => {
  it("gives every event of the run, in order", async () => {
    const { agent, events } = await start([[say("x".repeat(100), 1), call("t")], [say("Done.")]], {
      tools: Toolset.layer(tool("t"))
    })
    const streamed = await read(agent.stream("go"))
    expect(streamed).toEqual(events)
    expect(streamed.length).toBeGreaterThan(100)
    expect(TraceChecker.check(streamed)).toEqual(Option.none())
  })

  it("starts no run before it is read, and one for each reading", async () => {
    const { agent, provider } = await start([[say("a")], [say("b")]])
    const stream = agent.stream("go")
    await nextTask()
    expect(provider.requests).toEqual([])
    await read(stream)
    await read(stream)
    expect(agent.state().messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"])
  })

  it("aborts the run when it is left, which is over then", async () => {
    const { agent, provider, events } = await start([[say("x".repeat(100), 1), stall]])
    for await (const event of agent.stream("go")) if (isDelta(event)) break
    expect(agent.state().isStreaming).toBe(false)
    expect(provider.streams).toEqual({ opened: 1, closed: 1 })
    expect(lastOf(events)).toMatchObject({ type: "agent_end", reason: "aborted" })
    expect(TraceChecker.check(events)).toEqual(Option.none())
  })

  it("tells the end of a run that its signal aborts", async () => {
    const { agent } = await start([[say("half"), stall]])
    const { signal, ...controller } = withSignal()
    const streamed: Array<AgentEvent> = []
    for await (const event of agent.stream("go", { signal })) {
      streamed.push(event)
      if (isDelta(event)) controller.abort()
    }
    expect(lastOf(streamed)).toMatchObject({ type: "agent_end", reason: "aborted" })
    expect(TraceChecker.check(streamed)).toEqual(Option.none())
    expect(getEventListeners(signal, "abort")).toEqual([])
  })

  it("is empty with a signal that is aborted already", async () => {
    const { agent, provider } = await start([[say("a")]])
    expect(await read(agent.stream("go", { signal: AbortSignal.abort() }))).toEqual([])
    expect(provider.requests).toEqual([])
  })

  it("rejects with the busy error itself while a run goes on, which is left alone", async () => {
    const { agent, go } = await startHeld()
    const first = agent.prompt("one")
    expect(await reject(read(agent.stream("two")))).toBeInstanceOf(Agent.AgentBusy)
    go()
    expect(await first).toMatchObject({ reason: "completed", text: "a" })
  })

  it("holds only events of its own run when another follows at once", async () => {
    const { agent } = await start([[say("a")], [say("b")]], { continueWhenQueued: true })
    agent.subscribe((event) => {
      if (event.type === "agent_end" && agent.state().messages.length === 2) agent.followUp(user("more"))
    })
    const streamed = await read(agent.stream("go"))
    expect(streamed.filter(({ type }) => type === "agent_start")).toHaveLength(1)
    expect(lastOf(streamed)).toMatchObject({ type: "agent_end" })
  })
})

describe("steer and followUp", () => {
  it("say when the message was delivered", async () => {
    const { agent } = await start([[call("t")], [say("a")], [say("b")]], { tools: Toolset.layer(tool("t")) })
    const [steered, followed] = [agent.followUp(user("later")), agent.steer(user("now"))].toReversed()
    const result = await agent.prompt("go")
    expect(result.messages.flatMap((message) => (message.role === "user" ? [message.content] : []))).toEqual([
      [{ type: "text", text: "go" }],
      "now",
      "later"
    ])
    expect(await steered!.delivered()).toMatchObject({ turn: 1 })
    expect(await followed!.delivered()).toMatchObject({ turn: 3 })
    expect(steered!.withdraw()).toBe(false)
  })

  it("take a message back once", async () => {
    const { agent } = await start([[say("a")]])
    const receipt = agent.steer(user("now"))
    expect([agent.state().isQueued, receipt.withdraw(), receipt.withdraw(), agent.state().isQueued]).toEqual([
      true,
      true,
      false,
      false
    ])
    const error = await reject(receipt.delivered())
    expect(error).toBeInstanceOf(Agent.NotDelivered)
    expect(error).toMatchObject({ reason: "withdrawn" })
    expect((await agent.prompt("go")).messages).toHaveLength(2)
  })
})

describe("subscribe", () => {
  it("has the run wait for a listener's promise", async () => {
    const { agent, provider } = await start([[say("a")]])
    const go = Promise.withResolvers<void>()
    agent.subscribe(({ type }) => (type === "message_end" ? go.promise : undefined))
    const prompted = told(agent, ({ type }) => type === "message_start")
    const result = agent.prompt("go")
    await prompted
    await nextTask()
    expect(provider.requests).toEqual([])
    go.resolve()
    expect(await result).toMatchObject({ reason: "completed" })
  })

  it("tells no more after it was ended", async () => {
    const { agent, events } = await start([[say("a")], [say("b")]])
    const heard: Array<AgentEvent> = []
    const end = agent.subscribe((event) => void heard.push(event))
    await agent.prompt("one")
    end()
    end()
    const until = heard.length
    await agent.prompt("two")
    expect([heard.length, events.length]).toEqual([until, 2 * until])
  })

  it("reports a listener that throws or rejects to the log, and the run goes on", async () => {
    const logged: Array<unknown> = []
    const log = Logger.make(({ message }) => void logged.push(message))
    const agent = await fromLayer(
      Agent.layer({ model }).pipe(
        Layer.provide([Scripted.layer({ turns: [[say("a")]] }), Toolset.empty, Logger.layer([log])])
      )
    )
    agent.subscribe(({ type }) => (type === "turn_start" ? Promise.reject(new Error("rejected")) : undefined))
    agent.subscribe(({ type }) => {
      if (type === "turn_end") throw new Error("threw")
    })
    expect(await agent.prompt("go")).toMatchObject({ reason: "completed" })
    expect(logged).toHaveLength(2)
  })
})

describe("dispose", () => {
  it("settles a run, what waits for its end, and what is queued", async () => {
    const { agent, provider, events } = await start([[say("half"), stall]])
    const halfway = told(agent, isDelta)
    const result = agent.prompt("go")
    const idle = agent.waitForIdle()
    await halfway
    const receipts = [agent.steer(user("now")), agent.followUp(user("later"))]
    const settled = Promise.allSettled(receipts.map(({ delivered }) => delivered()))
    await agent.dispose()
    expect(await result).toMatchObject({ reason: "aborted", text: "half" })
    expect(await settled).toMatchObject([{ reason: { reason: "closed" } }, { reason: { reason: "closed" } }])
    await idle
    expect(provider.streams).toEqual({ opened: 1, closed: 1 })
    expect(TraceChecker.check(events)).toEqual(Option.none())
  })

  it("ends a stream whose reader waits for an event", async () => {
    const { agent } = await start([[say("half"), stall]])
    const halfway = told(agent, isDelta)
    const streamed = read(agent.stream("go"))
    await halfway
    await nextTask()
    await agent.dispose()
    expect((await streamed).some(isDelta)).toBe(true)
  })

  it("ends a stream that is not read to its end, also from inside of its loop", async () => {
    const { agent, provider } = await start([[say("x".repeat(1000), 1), stall]])
    let count = 0
    for await (const _ of agent.stream("go")) {
      count++
      await agent.dispose()
    }
    expect(count).toBe(1)
    expect(agent.state().isStreaming).toBe(false)
    expect(provider.streams.closed).toBe(provider.streams.opened)
  })

  it("closes the layers, once", async () => {
    const { agent, closed } = await startCounting()
    await Promise.all([agent.dispose(), agent.dispose()])
    await agent.dispose()
    expect(closed()).toBe(1)
  })

  it("leaves an agent behind that does nothing more", async () => {
    const { agent, provider } = await start([[say("a")]])
    await agent.dispose()
    expect(await agent.prompt("go")).toMatchObject({ reason: "aborted", messages: [] })
    expect(await read(agent.stream("go"))).toEqual([])
    expect(await reject(agent.steer(user("now")).delivered())).toMatchObject({ reason: "closed" })
    await agent.waitForIdle()
    agent.abort()
    expect(provider.requests).toEqual([])
  })
})

describe("make and fromLayer", () => {
  it("reject with what a layer fails with, and close what was open by then", async () => {
    let closed = 0
    const provider = Layer.effect(
      Provider,
      Effect.acquireRelease(Scripted.make({ turns: [] }), () => Effect.sync(() => closed++))
    )
    const error = await reject(make({ model, provider, tools: Toolset.layer(tool("t"), tool("t")) }))
    expect(error).toBeInstanceOf(DuplicateTool)
    expect(closed).toBe(1)
  })

  it("hold the agent itself for what they leave out", async () => {
    const { agent } = await start([[say("a")]], { messages: [user("hello")] })
    expect(await Effect.runPromise(agent.service.continue)).toMatchObject({ text: "a" })
    await Effect.runPromise(agent.service.reset)
    expect(agent.state().messages).toEqual([])
  })
})

const withSignal = () => {
  const controller = new AbortController()
  return { signal: controller.signal, abort: () => controller.abort() }
}

const startCounting = async () => {
  let closed = 0
  const provider = Layer.effect(
    Provider,
    Effect.acquireRelease(Scripted.make({ turns: [] }), () => Effect.sync(() => closed++))
  )
  return { agent: await make({ model, provider }), closed: () => closed }
}
