import { describe, expect, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "../../src/AgentEvent.ts"
import type { AssistantContent, Message, ToolCall } from "../../src/Message.ts"
import * as TraceChecker from "../../src/testing/TraceChecker.ts"
import {
  answer,
  done,
  end,
  type Events,
  executed,
  failed,
  notice,
  partial,
  progress,
  resultOf,
  retry,
  run,
  start,
  streamed,
  turn,
  update,
  user,
  whole
} from "./events.ts"
import {
  a,
  b,
  both,
  hello,
  inBatch,
  last,
  terminating,
  text,
  textDelta,
  textStart,
  updates,
  violations
} from "./violations.ts"

const ruleOf = (events: Events, history: ReadonlyArray<Message> = []) =>
  Option.getOrUndefined(Option.map(TraceChecker.check(events, history), ({ rule, index }) => [rule, index]))

describe("a broken rule is named, with its place:", () => {
  for (const [rule, traces] of Object.entries(violations)) {
    it.each(traces)(`${rule}: %s`, (_, events, index) => {
      expect(ruleOf(events)).toEqual([rule, index])
    })
  }

  it("an id of the transcript before the run counts", () => {
    const events = run("completed", turn(...whole(answer([a])), ...executed(a)), last)
    expect(ruleOf(events)).toBeUndefined()
    expect(ruleOf(events, [user("x"), answer([a]), resultOf(a)])).toEqual(["call-id", 3])
  })

  it("the message says where, which rule, and what is wrong", () => {
    const violation = Option.getOrThrow(TraceChecker.check(inBatch([[a, b]], ...executed(a))))
    expect(violation.message).toBe(
      'Event 8 breaks the rule "result-missing" (each tool call has a result, before any other message and before ' +
        'turn_end): turn_end comes, and call "b" has no result yet.'
    )
  })
})

const accepted: ReadonlyArray<readonly [string, Events]> = [
  ["an answer that is streamed", run("completed", last)],
  ["prompts of any kind", run("completed", turn(...hello, ...whole(notice), ...streamed("a")))],
  ["a response that never began to stream", run("error", turn(...hello, ...whole(failed("error", [text("a")]))))],
  ["an empty response after an abort", run("aborted", turn(...hello, ...whole(failed("aborted"))))],
  ["a sequential batch", run("completed", turn(...both, ...executed(a), ...executed(b)), last)],
  [
    "a parallel batch, in any order of its ends",
    inBatch(
      [[a, b]],
      start(a),
      start(b),
      progress(a),
      progress(b),
      end(b),
      progress(a),
      end(a),
      ...whole(resultOf(a)),
      ...whole(resultOf(b))
    )
  ],
  [
    "a refused call that ends before the next starts",
    inBatch(
      [[a, b]],
      start(a),
      end(a, done, true),
      start(b),
      end(b),
      ...whole(resultOf(a, done, true)),
      ...whole(resultOf(b))
    )
  ],
  [
    "results without content",
    inBatch([[a, b]], ...executed(a, { content: null, addedToolNames: [] }), ...executed(b, { details: { x: null } }))
  ],
  [
    "a batch that was cut off",
    inBatch([[a, b], { stopReason: "length" }], ...executed(a, done, true), ...executed(b, done, true))
  ],
  [
    "a follow-up after a batch that terminated",
    run(
      "completed",
      turn(...both, ...executed(a, terminating), ...executed(b, terminating)),
      turn(...hello, ...streamed("a"))
    )
  ],
  ["an abort after a turn", run("aborted", turn(...both, ...executed(a), ...executed(b)))],
  ["a hook that died after a turn", run("error", last, turn(...whole(failed("error"))))],
  [
    "retries that discard what was streamed",
    run("completed", turn(...streamed("lost").slice(0, 3), retry(1), retry(2), ...streamed("a")))
  ],
  ["calls that are not executed in a failed response", run("aborted", turn(...whole(failed("aborted", [a, b]))))],
  [
    "blocks folded before the message was opened",
    run(
      "completed",
      turn(
        { type: "message_start", message: partial([text("a"), { ...a, arguments: { x: 1 } }]) },
        update([text("ab"), { ...a, arguments: { x: 1 } }], textDelta("b")),
        update([text("ab"), { ...a, arguments: { x: 12 } }], { type: "toolcall_delta", contentIndex: 1, delta: "2}" }),
        { type: "message_end", message: answer([text("ab"), { ...a, arguments: { x: 12 } }]) },
        ...executed({ ...a, arguments: { x: 12 } })
      ),
      last
    )
  ]
]

describe("a good trace is accepted:", () => {
  it.each(accepted)("%s", (_, events) => {
    expect(ruleOf(events)).toBeUndefined()
  })
})

describe("long responses", () => {
  const delta = "x".repeat(1000)
  /** With the snapshots from one to another edited, so that their length shows nothing. */
  const long = (from = 40, to = from): Events => {
    const texts = Array.from(
      { length: 40 },
      (_, i) => (i < from || i > to ? delta : `y${delta.slice(1)}`) + delta.repeat(i)
    )
    return updates([[text("")], textStart], ...texts.map((so) => [[text(so)], textDelta(delta)] as const))
  }

  const thought = (): Events => {
    const block = (i: number): AssistantContent => ({ type: "thinking", thinking: delta.repeat(i) })
    return updates(
      [[block(0)], { type: "thinking_start", contentIndex: 0 }],
      ...Array.from(
        { length: 40 },
        (_, i) => [[block(i + 1)], { type: "thinking_delta", contentIndex: 0, delta }] as const
      )
    )
  }
  const messageOf = (event: AgentEvent) => (event as Extract<AgentEvent, { type: "message_update" }>).message

  it("are accepted", () => {
    expect(ruleOf(long())).toBeUndefined()
  })

  it("are compared whole at each event while they are short, and at the end", () => {
    expect(ruleOf(long(3))).toEqual(["update-fold", 7])
    expect(ruleOf(long(39))).toEqual(["response-end", 44])
  })

  it("are compared whole again when they have grown by half", () => {
    expect(ruleOf(long(8, 39))).toEqual(["update-fold", 15])
  })

  it("are held against their length at each event", () => {
    const events = long()
    const event = events[40] as Extract<AgentEvent, { type: "message_update" }>
    const shorter = { ...event, message: partial([text(delta.repeat(36))]) }
    expect(ruleOf(events.with(40, shorter))).toEqual(["update-fold", 40])
    const thinking = thought()
    expect(ruleOf(thinking)).toBeUndefined()
    expect(ruleOf(thinking.with(40, { ...thinking[40]!, message: messageOf(thinking[39]!) } as AgentEvent))).toEqual([
      "update-fold",
      40
    ])
  })
})

describe("event by event", () => {
  it("a state is a value: what follows can be tried more than once", () => {
    const events = run("completed", last)
    const state = events
      .slice(0, 5)
      .reduce((known, event) => Result.getOrThrow(TraceChecker.step(known, event)), TraceChecker.initial())
    expect(Result.isFailure(TraceChecker.step(state, { type: "turn_start" }))).toBe(true)
    expect(Result.isFailure(TraceChecker.end(state))).toBe(true)
    const over = events.slice(5).reduce((known, event) => Result.getOrThrow(TraceChecker.step(known, event)), state)
    expect(Result.isSuccess(TraceChecker.end(over))).toBe(true)
  })
})

describe("checked", () => {
  const read = Effect.fnUntraced(function* (...arrays: ReadonlyArray<Events>) {
    const seen: Array<Events> = []
    const exit = yield* Stream.fromArrays(...arrays).pipe(
      TraceChecker.checked(),
      Stream.runForEachArray((events) => Effect.sync(() => seen.push(events))),
      Effect.exit
    )
    return { seen, defect: Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined }
  })

  it.effect("hands a good run on as it came", () =>
    Effect.gen(function* () {
      const events = run("completed", last)
      const { seen, defect } = yield* read(events.slice(0, 4), events.slice(4))
      expect(defect).toBeUndefined()
      expect(seen).toEqual([events.slice(0, 4), events.slice(4)])
    })
  )

  it.effect("dies in the place of the event that breaks a rule", () =>
    Effect.gen(function* () {
      const events = run("completed", last)
      const { seen, defect } = yield* read(events.slice(0, 2), [...events.slice(2, 4), { type: "turn_start" }])
      expect(seen).toEqual([events.slice(0, 2), events.slice(2, 4)])
      expect(defect).toMatchObject({ _tag: "Violation", rule: "turn-order", index: 4 })
      const first = yield* read([{ type: "turn_start" }])
      expect(first).toMatchObject({ seen: [], defect: { rule: "run-start", index: 0 } })
    })
  )

  it.effect("dies at the end of a run that is not over", () =>
    Effect.gen(function* () {
      const { seen, defect } = yield* read(run("completed", last).slice(0, 3))
      expect(seen.flat()).toHaveLength(3)
      expect(defect).toMatchObject({ rule: "run-unfinished", index: 3 })
    })
  )
})

describe("a recorder", () => {
  it.effect("finds snapshots that change after they arrived", () =>
    Effect.gen(function* () {
      const args = { x: 1 }
      const changing: ToolCall = { ...a, arguments: args }
      const events = inBatch([[changing]], ...executed(changing))
      const recorder = TraceChecker.recorder()
      events.slice(0, 5).forEach(recorder.add)
      args.x = 2
      events.slice(5).forEach(recorder.add)
      expect(TraceChecker.check(recorder.events)).toEqual(Option.none())
      expect(Option.getOrThrow(recorder.check())).toMatchObject({
        rule: "snapshot",
        index: 2,
        what: 'the event has changed at "/message/content/0/arguments/x"'
      })
    })
  )

  it.effect("collect gives the events of a good run, and dies where a rule is broken", () =>
    Effect.gen(function* () {
      const events = run("completed", last)
      expect(yield* TraceChecker.collect(Stream.fromIterable(events))).toEqual(events)
      const exit = yield* Effect.exit(TraceChecker.collect(Stream.fromIterable(events.slice(0, -1))))
      expect(Exit.isFailure(exit) && Cause.squash(exit.cause)).toMatchObject({ rule: "run-unfinished" })
      const history = [answer([a]), resultOf(a)]
      const repeated = run("completed", turn(...whole(answer([a])), ...executed(a)), last)
      const refused = yield* Effect.exit(TraceChecker.collect(Stream.fromIterable(repeated), history))
      expect(Exit.isFailure(refused) && Cause.squash(refused.cause)).toMatchObject({ rule: "call-id" })
    })
  )
})
