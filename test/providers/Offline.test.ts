// The stand-in as a provider: its events, and a whole run of the loop with it.
import * as NodeServices from "@effect/platform-node/NodeServices"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Loop from "../../src/Loop.ts"
import type { LlmMessage } from "../../src/Message.ts"
import * as Offline from "../../src/providers/Offline.ts"
import { plan } from "../../src/providers/offline/plan.ts"
import { Provider, type ProviderEvent, type ProviderRequest } from "../../src/services/Provider.ts"
import * as TraceChecker from "../../src/testing/TraceChecker.ts"
import { folder, within } from "../tools/support.ts"
import { ask, calling, files, resultOf, tools, user } from "./offline/support.ts"

const requestOf = (messages: ReadonlyArray<LlmMessage>): ProviderRequest => ({
  systemPrompt: undefined,
  messages,
  tools,
  model: Offline.model,
  thinkingLevel: undefined,
  apiKey: undefined
})

const arraysOf = Effect.fnUntraced(function* (messages: ReadonlyArray<LlmMessage>) {
  const { stream } = yield* Provider
  const arrays: Array<ReadonlyArray<ProviderEvent>> = []
  yield* Stream.runForEachArray(stream(requestOf(messages)), (array) => Effect.sync(() => arrays.push(array)))
  return arrays
}, Effect.provide(Offline.layer))

const deltasOf = (events: ReadonlyArray<ProviderEvent>, contentIndex: number): ReadonlyArray<string> =>
  events.flatMap((event) => ("delta" in event && event.contentIndex === contentIndex ? [event.delta] : []))

describe("the events", () => {
  it.effect("of an answer are its words, in small deltas and several arrays", () =>
    Effect.gen(function* () {
      const messages = [user("hello")]
      const arrays = yield* arraysOf(messages)
      const events = arrays.flat()
      expect(arrays.length).toBeGreaterThan(5)
      expect(events.map(({ type }) => type).filter((type) => type !== "text_delta")).toEqual([
        "start",
        "text_start",
        "text_end",
        "done"
      ])
      expect(events.at(-1)).toEqual({ type: "done", reason: "stop" })
      const deltas = deltasOf(events, 0)
      expect(deltas.every((delta) => delta.trim() !== "" && delta.trim().length <= 24)).toBe(true)
      expect({ _tag: "Text", text: deltas.join("") }).toEqual(plan(requestOf(messages)))
    })
  )

  it.effect("of calls are a block each, with the arguments as JSON", () =>
    Effect.gen(function* () {
      const events = (yield* arraysOf([user("read `a 🌹.txt` and list src")])).flat()
      expect(events.filter(({ type }) => type !== "toolcall_delta")).toEqual([
        { type: "start" },
        { type: "toolcall_start", contentIndex: 0, id: "offline_1", name: "read" },
        { type: "toolcall_end", contentIndex: 0 },
        { type: "toolcall_start", contentIndex: 1, id: "offline_2", name: "ls" },
        { type: "toolcall_end", contentIndex: 1 },
        { type: "done", reason: "toolUse" }
      ])
      expect(JSON.parse(deltasOf(events, 0).join(""))).toEqual({ path: "a 🌹.txt" })
      expect(deltasOf(events, 1).join("")).toBe(`{"path":"src"}`)
    })
  )

  it.effect("give calls ids that the transcript does not have", () =>
    Effect.gen(function* () {
      const before = [
        user("read a.txt and b.txt"),
        calling(
          [
            { name: "read", arguments: { path: "a.txt" } },
            { name: "read", arguments: { path: "b.txt" } }
          ],
          0
        ),
        resultOf("call_0_0", "read", "a"),
        resultOf("call_0_1", "read", "b"),
        calling([{ name: "read", arguments: { path: "c.txt" } }], 1),
        resultOf("call_1_0", "read", "c"),
        user("ls")
      ]
      const events = (yield* arraysOf(before)).flat()
      expect(events).toContainEqual({ type: "toolcall_start", contentIndex: 0, id: "offline_4", name: "ls" })
    })
  )
})

describe("a run", () => {
  it.live("keeps the grammar, and answers as the plan does", () =>
    Effect.gen(function* () {
      const path = yield* folder(files)
      const question = "read notes.txt, and tell me which license this has"
      const recorder = TraceChecker.recorder()
      yield* Loop.run({ prompts: [user(question)], model: Offline.model, tools }).pipe(
        Stream.runForEach((event) => Effect.sync(() => recorder.add(event))),
        within(path)
      )
      expect(Option.getOrUndefined(recorder.check())).toBeUndefined()
      const end = recorder.events.at(-1)
      const { text, messages } = yield* within(path)(ask(question))
      expect(end).toMatchObject({ type: "agent_end", reason: "completed" })
      expect(end).toHaveProperty("messages.length", messages.length)
      expect(end).toHaveProperty(["messages", messages.length - 1, "content"], [{ type: "text", text }])
    }).pipe(Effect.provide([NodeServices.layer, Offline.layer]), Effect.scoped)
  )
})
