// Traces that break one rule each, for every rule of the trace checker.
import type { AgentEvent, AssistantMessageEvent } from "../../src/AgentEvent.ts"
import type { AssistantContent } from "../../src/Message.ts"
import type { Rule } from "../../src/testing/TraceChecker.ts"
import {
  answer,
  call,
  done,
  end,
  type Events,
  executed,
  failed,
  partial,
  progress,
  resultOf,
  retry,
  run,
  start,
  streamed,
  tokens,
  turn,
  update,
  user,
  whole
} from "./events.ts"

export const a = call("a")
export const b = call("b")
export const both = whole(answer([a, b]))
export const hello = whole(user("hello"))
export const last = turn(...streamed("bye"))
export const terminating = { ...done, terminate: true }

export const text = (text: string): AssistantContent => ({ type: "text", text })

/** The events with the n-th one of a type changed. */
const edit = <Type extends AgentEvent["type"]>(
  events: Events,
  type: Type,
  change: (event: Extract<AgentEvent, { type: Type }>) => object,
  nth = 0
): Events => {
  const index = events.flatMap((event, i) => (event.type === type ? [i] : []))[nth]!
  const event = events[index] as Extract<AgentEvent, { type: Type }>
  return events.with(index, { ...event, ...change(event) } as AgentEvent)
}

/** A run of one response that is streamed by these updates. */
export const updates = (
  ...all: ReadonlyArray<readonly [ReadonlyArray<AssistantContent>, AssistantMessageEvent]>
): Events => {
  const content = all.at(-1)![0]
  return run(
    "error",
    turn({ type: "message_start", message: partial([]) }, ...all.map(([content, event]) => update(content, event)), {
      type: "message_end",
      message: failed("error", content)
    })
  )
}

export const textStart: AssistantMessageEvent = { type: "text_start", contentIndex: 0 }
export const textDelta = (delta: string): AssistantMessageEvent => ({ type: "text_delta", contentIndex: 0, delta })
const textEnd = (content: string): AssistantMessageEvent => ({ type: "text_end", contentIndex: 0, content })

export const inBatch = (response: Parameters<typeof answer>, ...events: Events) =>
  run("completed", turn(...whole(answer(...response)), ...events), last)

const priced = (total: number) => ({
  ...tokens(1, 1),
  cost: { input: total, output: 0, cacheRead: 0, cacheWrite: 0, total }
})

/** For each rule: traces that break it and no other before, each with the place where it is broken. */
export const violations: Record<Exclude<Rule, "snapshot">, ReadonlyArray<readonly [string, Events, number]>> = {
  shape: [
    ["an unknown event", [{ type: "agent_begin" } as unknown as AgentEvent], 0],
    ["a missing member", edit(run("completed", last), "message_end", () => ({ message: { role: "user" } })), 6],
    ["a value that is not JSON", run("completed", turn(...whole(answer([call("a", new Date() as never)])))), 2],
    [
      "a message without its content",
      edit(run("completed", last), "message_update", ({ message }) => ({ message: { ...message, content: 3 } })),
      3
    ],
    [
      "an update without its event",
      edit(run("completed", last), "message_update", () => ({ assistantMessageEvent: undefined })),
      3
    ]
  ],
  "run-start": [
    ["no agent_start", run("completed", last).slice(1), 0],
    ["two of them", [{ type: "agent_start" }, ...run("completed", last)], 1]
  ],
  "run-end": [
    ["an event after agent_end", [...run("completed", last), { type: "turn_start" }], 9],
    ["a second agent_end", [...run("completed", last), run("completed", last).at(-1)!], 9]
  ],
  "run-unfinished": [
    ["no agent_end", run("completed", last).slice(0, -1), 8],
    ["no event at all", [], 0],
    ["the end in mid-turn", run("completed", last).slice(0, 5), 5]
  ],
  "turn-start": [
    ["a prompt before the turn", run("completed", hello, last), 1],
    ["a call after the turn", run("completed", last, [start(a)]), 8],
    ["a retry between turns", run("completed", last, [retry(1)]), 8]
  ],
  "turn-order": [
    ["no turn", run("completed"), 1],
    ["a turn without a response", run("completed", [{ type: "turn_start" }, last.at(-1)!]), 2],
    ["a turn in a turn", run("completed", [{ type: "turn_start" }, ...last]), 2],
    ["a run that ends in a turn", run("completed", last.slice(0, -1)), 7],
    ["a turn that ends within a message", inBatch([[a]], start(a), end(a), whole(resultOf(a))[0]!), 7],
    ["two responses", run("completed", turn(...streamed("a"), ...streamed("b"))), 7],
    ["a prompt after the response", run("completed", turn(...streamed("a"), ...hello)), 7]
  ],
  "turn-cause": [
    ["a turn after the last", run("completed", last, last), 13],
    [
      "a turn after a batch that terminated",
      run("completed", turn(...whole(answer([a])), ...executed(a, terminating)), last),
      14
    ]
  ],
  "turn-after-failure": [
    ["a turn after an error", run("completed", turn(...whole(failed("error"))), turn(...hello, ...streamed("a"))), 5],
    ["a turn after an abort", run("completed", turn(...whole(failed("aborted"))), last), 5]
  ],
  "turn-end": [
    ["another message", edit(run("completed", last), "turn_end", () => ({ message: answer([]) })), 7],
    ["no results", edit(inBatch([[a]], ...executed(a)), "turn_end", () => ({ toolResults: [] })), 8],
    [
      "results in another order",
      edit(inBatch([[a, b]], ...executed(a), ...executed(b)), "turn_end", ({ toolResults }) => ({
        toolResults: toolResults.toReversed()
      })),
      12
    ]
  ],
  "message-pair": [
    ["an end without a start", run("completed", turn(hello[1]!, ...streamed("a"))), 2],
    ["a start without an end", run("completed", turn(hello[0]!, ...streamed("a"))), 3],
    ["two starts of results", inBatch([[a]], start(a), end(a), whole(resultOf(a))[0]!, ...whole(resultOf(a))), 7],
    ["a call within a result", inBatch([[a, b]], start(a), end(a), whole(resultOf(a))[0]!, start(b)), 7],
    ["another message", run("completed", turn(hello[0]!, whole(user("bye"))[1]!, ...streamed("a"))), 3],
    [
      "another result",
      inBatch([[a]], start(a), end(a), whole(resultOf(a))[0]!, whole(resultOf(a, terminating, true))[1]!),
      7
    ],
    [
      "another response",
      run("error", turn({ type: "message_start", message: failed("error") }, whole(failed("error", [text("a")]))[1]!)),
      3
    ],
    ["a user's message for a response", run("completed", turn(whole(answer([]))[0]!, ...hello.slice(1))), 3]
  ],
  "update-outside": [
    ["before the response", run("completed", turn(update([text("")], textStart), ...streamed("a"))), 2],
    ["after the response", run("completed", turn(...streamed("a"), update([text("a")], textDelta("a")))), 7],
    [
      "within a prompt",
      run("completed", turn(hello[0]!, update([text("")], textStart), hello[1]!, ...streamed("a"))),
      3
    ],
    ["after a retry", run("completed", turn(retry(1), update([text("")], textStart), ...streamed("a"))), 3]
  ],
  "update-partial": [
    [
      "a stop reason",
      edit(run("completed", last), "message_update", ({ message }) => ({
        message: { ...message, stopReason: "length" }
      })),
      3
    ],
    [
      "usage",
      edit(run("completed", last), "message_update", ({ message }) => ({
        message: { ...message, usage: tokens(1, 1) }
      })),
      3
    ],
    [
      "an error",
      edit(run("completed", last), "message_update", ({ message }) => ({ message: { ...message, errorMessage: "e" } })),
      3
    ],
    ["a start that tells of the end", edit(run("completed", last), "message_start", () => ({ message: answer([]) })), 3]
  ],
  "update-fold": [
    ["text that was not streamed", updates([[text("")], textStart], [[text("ab")], textDelta("a")]), 4],
    ["text that is lost", updates([[text("")], textStart], [[text("")], textDelta("a")]), 4],
    ["a block too many", updates([[text(""), text("")], textStart]), 3],
    [
      "arguments that were not streamed",
      updates(
        [[call("a")], { type: "toolcall_start", contentIndex: 0, id: "a", name: "read" }],
        [[call("a", { x: 2 })], { type: "toolcall_delta", contentIndex: 0, delta: '{"x":1' }]
      ),
      4
    ],
    ["another id", updates([[call("b")], { type: "toolcall_start", contentIndex: 0, id: "a", name: "read" }]), 3],
    [
      "no signature",
      updates(
        [[{ type: "thinking", thinking: "" }], { type: "thinking_start", contentIndex: 0 }],
        [
          [{ type: "thinking", thinking: "" }],
          { type: "thinking_end", contentIndex: 0, content: "", signature: "proof" }
        ]
      ),
      4
    ],
    [
      "redacted thinking in clear",
      updates([
        [{ type: "thinking", thinking: "" }],
        { type: "thinking_start", contentIndex: 0, redacted: true, signature: "opaque" }
      ]),
      3
    ],
    [
      "other data",
      updates([[{ type: "other", provider: "acme", data: 1 }], { type: "other", contentIndex: 0, data: 2 }]),
      3
    ]
  ],
  "update-block": [
    ["a block that has not begun", updates([[text("a")], textDelta("a")]), 3],
    ["an index that is not due", updates([[text("")], { type: "text_start", contentIndex: 1 }]), 3],
    ["a block that begins twice", updates([[text("")], textStart], [[text("")], textStart]), 4],
    [
      "a delta after the end",
      updates([[text("")], textStart], [[text("")], textEnd("")], [[text("a")], textDelta("a")]),
      5
    ],
    [
      "another kind",
      updates([[text("")], textStart], [[text("a")], { ...textDelta("a"), type: "thinking_delta" } as never]),
      4
    ],
    ["another text at the end", updates([[text("")], textStart], [[text("")], textEnd("a")]), 4],
    [
      "another call at the end",
      updates(
        [[call("a")], { type: "toolcall_start", contentIndex: 0, id: "a", name: "read" }],
        [[call("a")], { type: "toolcall_end", contentIndex: 0, toolCall: call("a", { x: 1 }) }]
      ),
      4
    ],
    [
      "broken arguments that pass for whole ones",
      updates(
        [[call("a")], { type: "toolcall_start", contentIndex: 0, id: "a", name: "read" }],
        [[call("a")], { type: "toolcall_delta", contentIndex: 0, delta: "{" }],
        [[call("a")], { type: "toolcall_end", contentIndex: 0, toolCall: call("a") }]
      ),
      5
    ]
  ],
  "response-end": [
    ["text that is lost", edit(run("completed", last), "message_end", () => ({ message: answer([]) })), 6],
    [
      "text that was not streamed",
      edit(run("completed", last), "message_end", () => ({ message: answer([text("byebye")]) })),
      6
    ],
    [
      "what was discarded by a retry",
      run(
        "completed",
        turn(
          ...streamed("lost").slice(0, 3),
          retry(1),
          {
            type: "message_start",
            message: partial([])
          },
          { type: "message_end", message: answer([text("lost")]) }
        )
      ),
      7
    ]
  ],
  "response-model": [
    [
      "another model while it streams",
      edit(run("completed", last), "message_update", ({ message }) => ({ message: { ...message, model: "m2" } })),
      3
    ],
    [
      "another provider at the end",
      edit(run("completed", last), "message_end", ({ message }) => ({ message: { ...message, provider: "other" } })),
      6
    ]
  ],
  "call-id": [
    ["twice in one response", run("completed", turn(...whole(answer([a, a])), ...executed(a), ...executed(a))), 3],
    [
      "twice in one run",
      run("completed", turn(...whole(answer([a])), ...executed(a)), turn(...whole(answer([a])), ...executed(a)), last),
      11
    ]
  ],
  "retry-place": [
    ["after the response", run("completed", turn(...streamed("a"), retry(1))), 7],
    ["before a prompt", run("completed", turn(retry(1), ...hello, ...streamed("a"))), 3],
    [
      "after a response that is finished",
      run("error", turn(whole(failed("error"))[0]!, retry(1), ...streamed("a"))),
      3
    ],
    ["in a turn without a cause", run("completed", last, turn(retry(1), ...streamed("a"))), 9]
  ],
  "retry-attempt": [
    ["not from 1", run("completed", turn(retry(2), ...streamed("a"))), 2],
    ["not counted on", run("completed", turn(retry(1), ...streamed("x").slice(0, 2), retry(1), ...streamed("a"))), 5],
    [
      "counted on in the next response",
      run("completed", turn(retry(1), ...whole(answer([a])), ...executed(a)), turn(retry(2), ...streamed("a"))),
      11
    ]
  ],
  "retry-retryable": [
    [
      "an error that is not",
      run("completed", turn(retry(1, { reason: "quota", retryable: false }), ...streamed("a"))),
      2
    ]
  ],
  "batch-place": [
    ["before the response", run("completed", turn(start(a), ...whole(answer([a])))), 2],
    ["after a response without calls", run("completed", turn(...streamed("a"), ...executed(a))), 7],
    ["after a failed response", run("error", turn(...whole(failed("error", [a])), ...executed(a))), 4],
    ["a call of nobody", inBatch([[a]], start(b)), 4]
  ],
  "call-pair": [
    ["a start that comes twice", inBatch([[a, b]], start(a), start(a)), 5],
    ["a start after the last", inBatch([[a]], ...executed(a), start(a)), 8],
    ["an end without a start", inBatch([[a]], end(a)), 4],
    ["an end that comes twice", inBatch([[a]], start(a), end(a), end(a)), 6],
    ["an end after the result", inBatch([[a]], ...executed(a), end(a)), 8]
  ],
  "call-order": [["the second before the first", inBatch([[a, b]], start(b)), 4]],
  "call-data": [
    ["another tool at the start", inBatch([[a]], start({ ...a, name: "write" })), 4],
    ["another tool in an update", inBatch([[a]], start(a), progress({ ...a, name: "write" })), 5],
    ["another tool at the end", inBatch([[a]], start(a), end({ ...a, name: "write" })), 5],
    ["other arguments at the start", inBatch([[a]], start(call("a", { x: 1 }))), 4],
    ["other arguments in an update", inBatch([[a]], start(a), progress(call("a", { x: 1 }))), 5]
  ],
  "call-update": [
    ["before the start", inBatch([[a]], progress(a)), 4],
    ["after the end", inBatch([[a]], start(a), end(a), progress(a)), 6],
    ["after the result", inBatch([[a]], ...executed(a), progress(a)), 8]
  ],
  "call-refused": [
    ["a call that was cut off succeeds", inBatch([[a], { stopReason: "length" }], start(a), end(a)), 5],
    ["a call that was cut off works", inBatch([[a], { stopReason: "length" }], start(a), progress(a)), 5],
    ["a call with broken arguments succeeds", inBatch([[{ ...a, rawArguments: "{" }]], start(a), end(a)), 5]
  ],
  "batch-mode": [
    ["sequential, then parallel", inBatch([[a, b, call("c")]], ...executed(a), start(b), start(call("c"))), 9],
    [
      "parallel, then sequential",
      inBatch(
        [[a, b, call("c")]],
        start(a),
        start(b),
        end(a, done, true),
        end(b, done, true),
        ...whole(resultOf(a, done, true)),
        ...whole(resultOf(b, done, true)),
        start(call("c"))
      ),
      12
    ],
    ["a result while another call runs", inBatch([[a, b]], start(a), start(b), end(a), ...whole(resultOf(a))), 7],
    ["parallel, though cut off", inBatch([[a, b], { stopReason: "length" }], start(a), start(b)), 5]
  ],
  "batch-preparation": [
    ["a call succeeds before the last has started", inBatch([[a, b]], start(a), end(a), start(b)), 6],
    ["a call works before the last has started", inBatch([[a, b]], start(a), progress(a), start(b)), 6],
    [
      "a call works and fails before the last has started",
      inBatch([[a, b]], start(a), progress(a), end(a, done, true), start(b)),
      7
    ]
  ],
  "result-missing": [
    ["no call was executed", run("completed", turn(...both), last), 4],
    ["one result is missing", run("completed", turn(...both, ...executed(a)), last), 8],
    ["a prompt comes first", inBatch([[a]], ...hello, ...executed(a)), 4]
  ],
  "result-order": [
    ["before the end of its call", inBatch([[a]], start(a), ...whole(resultOf(a))), 5],
    ["before the response", run("completed", turn(...whole(resultOf(a)), ...streamed("a"))), 2],
    ["twice", inBatch([[a]], ...executed(a), ...whole(resultOf(a))), 8],
    [
      "in another order",
      inBatch([[a, b]], start(a), start(b), end(a), end(b), ...whole(resultOf(b)), ...whole(resultOf(a))),
      8
    ],
    ["of a call of nobody", inBatch([[a]], start(a), end(a), ...whole(resultOf(b))), 6]
  ],
  "result-data": [
    ["another content", inBatch([[a]], start(a), end(a), ...whole(resultOf(a, { content: [] }))), 6],
    ["another outcome", inBatch([[a]], start(a), end(a), ...whole(resultOf(a, done, true))), 6],
    ["other details", inBatch([[a]], start(a), end(a, { details: 1 }), ...whole(resultOf(a, { details: 2 }))), 6],
    ["another tool", inBatch([[a]], start(a), end(a), ...whole({ ...resultOf(a), toolName: "write" })), 6],
    ["no added tools", inBatch([[a]], start(a), end(a, { addedToolNames: ["x"] }), ...whole(resultOf(a, {}))), 6],
    [
      "an empty list of added tools",
      inBatch([[a]], start(a), end(a, { addedToolNames: [] }), ...whole({ ...resultOf(a, {}), addedToolNames: [] })),
      6
    ]
  ],
  "end-messages": [
    ["one too few", edit(run("completed", last), "agent_end", () => ({ messages: [] })), 8],
    [
      "in another order",
      edit(run("completed", turn(...hello, ...streamed("a"))), "agent_end", ({ messages }) => ({
        messages: messages.toReversed()
      })),
      10
    ]
  ],
  "end-usage": [
    ["another count", edit(run("completed", last), "agent_end", () => ({ usage: tokens(3, 3) })), 8],
    [
      "without what was discarded",
      edit(run("completed", turn(retry(1), ...streamed("a"))), "agent_end", () => ({ usage: tokens(3, 4) })),
      9
    ],
    [
      "another cost where it is known",
      edit(run("completed", turn(...whole(answer([], { usage: priced(1) })))), "agent_end", () => ({
        usage: priced(2)
      })),
      5
    ],
    [
      "a cost where it is not known",
      edit(run("completed", last), "agent_end", ({ usage }) => ({
        usage: { ...usage, cost: { input: 1, output: 0, cacheRead: 0, cacheWrite: 0, total: 1 } }
      })),
      8
    ]
  ],
  "end-reason": [
    ["completed after an error", run("completed", turn(...whole(failed("error")))), 5],
    ["aborted after an error", run("aborted", turn(...whole(failed("error")))), 5],
    ["error after an abort", run("error", turn(...whole(failed("aborted")))), 5],
    ["error after an answer", run("error", last), 8],
    ["terminated after an answer", run("terminated", last), 8],
    ["limit after an answer", run("limit", last), 8],
    ["completed after a batch", run("completed", turn(...whole(answer([a])), ...executed(a))), 9],
    [
      "terminated, though one result does not ask for it",
      run("terminated", turn(...both, ...executed(a, terminating), ...executed(b))),
      13
    ],
    [
      "terminated, though cut off",
      run("terminated", turn(...whole(answer([a], { stopReason: "length" })), ...executed(a, terminating, true))),
      9
    ],
    ["limit after a batch that terminated", run("limit", turn(...whole(answer([a])), ...executed(a, terminating))), 9]
  ]
}
