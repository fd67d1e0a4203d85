import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { AgentEvent, AssistantMessageEvent, EndReason, ToolResult } from "../../src/AgentEvent.ts"
import { format, MAX_LENGTH, type State } from "../../src/cli/text.ts"
import { type AssistantMessage, emptyUsage } from "../../src/Message.ts"
import { hostileDeltas, plain, show } from "./screen.ts"

const assistant = (fields?: Partial<AssistantMessage>): AssistantMessage => ({
  role: "assistant",
  content: [],
  provider: "p",
  model: "m",
  usage: emptyUsage,
  stopReason: "stop",
  timestamp: 1,
  ...fields
})

const start = (fields?: Partial<AssistantMessage>): AgentEvent => ({
  type: "message_start",
  message: assistant(fields)
})
const end = (fields?: Partial<AssistantMessage>): AgentEvent => ({ type: "message_end", message: assistant(fields) })
const update = (assistantMessageEvent: AssistantMessageEvent): AgentEvent => ({
  type: "message_update",
  message: assistant(),
  assistantMessageEvent
})
const text = (delta: string, contentIndex = 0) => update({ type: "text_delta", contentIndex, delta })
const textEnd = (contentIndex = 0) => update({ type: "text_end", contentIndex, content: "" })
const thinking = (delta: string, contentIndex = 0) => update({ type: "thinking_delta", contentIndex, delta })
const thinkingEnd = (contentIndex = 0) => update({ type: "thinking_end", contentIndex, content: "" })
const call = (toolCallId: string, toolName: string, args: unknown): AgentEvent => ({
  type: "tool_execution_start",
  toolCallId,
  toolName,
  args: args as {}
})
const done = (toolCallId: string, toolName: string, result: string | ToolResult, isError = false): AgentEvent => ({
  type: "tool_execution_end",
  toolCallId,
  toolName,
  result: typeof result === "string" ? { content: [{ type: "text", text: result }] } : result,
  isError
})
const retry = (errorMessage: string): AgentEvent => ({
  type: "retry",
  attempt: 1,
  delayMs: 1500,
  error: { reason: "overloaded", retryable: true },
  errorMessage
})
const agentEnd = (reason: EndReason): AgentEvent => ({ type: "agent_end", messages: [], reason, usage: emptyUsage })

/** What the events print: on each output, and on a terminal that both go to. */
const play = (events: ReadonlyArray<AgentEvent>, options = { colours: false }) => {
  const { initial, step } = format(options)
  let state: State = initial
  const outputs = { stdout: "", stderr: "", terminal: "" }
  for (const event of events) {
    const [next, writes] = step(state, event)
    state = next
    for (const write of writes) {
      outputs[write.to] += write.text
      outputs.terminal += write.text
    }
  }
  return outputs
}

describe("the answer", () => {
  it("goes to standard output delta by delta, and ends with a newline", () => {
    const { initial, step } = format({ colours: true })
    const [state, writes] = step(initial, text("Hel"))
    expect(writes).toEqual([{ to: "stdout", text: "Hel" }])
    expect(step(state, text("lo"))[1]).toEqual([{ to: "stdout", text: "lo" }])
    expect(step(state, textEnd())[1]).toEqual([{ to: "stdout", text: "\n" }])
  })

  it("gets no second newline", () => {
    const events = [start(), text("Hello\n"), textEnd(), end(), agentEnd("completed")]
    expect(play(events)).toEqual({ stdout: "Hello\n", stderr: "", terminal: "Hello\n" })
  })

  it("of several blocks and responses has each on lines of its own", () => {
    const events = [
      start(),
      text("a"),
      textEnd(),
      text("b", 1),
      textEnd(1),
      end(),
      start(),
      text("c"),
      textEnd(),
      end()
    ]
    expect(play(events).stdout).toBe("a\nb\nc\n")
  })

  it("is not printed twice, and prompts and results not at all", () => {
    const content = [{ type: "text" as const, text: "Hello" }]
    const events: ReadonlyArray<AgentEvent> = [
      { type: "message_start", message: { role: "user", content, timestamp: 1 } },
      { type: "message_end", message: { role: "user", content: "prompt", timestamp: 1 } },
      start(),
      text("Hello"),
      textEnd(),
      end({ content }),
      {
        type: "message_start",
        message: { role: "toolResult", toolCallId: "1", toolName: "t", content, isError: false, timestamp: 1 }
      },
      { type: "turn_end", message: assistant({ content }), toolResults: [] }
    ]
    expect(play(events)).toEqual({ stdout: "Hello\n", stderr: "", terminal: "Hello\n" })
  })

  it("is complete where its beginning came before the message was opened", () => {
    const content = [{ type: "text" as const, text: "Hel" }]
    expect(play([start({ content }), text("lo"), textEnd(), end()]).stdout).toBe("Hello\n")
    expect(play([start({ content }), end({ content })]).stdout).toBe("Hel\n")
  })

  it("keeps a character whole whose halves come in two deltas, also with other blocks between them", () => {
    const events = [text("a\ud83d"), text("b\ud83c", 1), text("\ude00c"), text("\udf89d", 1)]
    expect(play(events).stdout).toBe("ab😀c🎉d")
  })

  it("does not wait for a half that never comes", () => {
    const events = [text("a\ud83d"), textEnd(), end(), start(), text("b"), textEnd(), end()]
    expect(play(events).stdout).toBe("a\nb\n")
  })
})

describe("tool calls", () => {
  it("are lines on standard error with name, arguments and outcome", () => {
    const events = [
      call("1", "read", { path: "package.json" }),
      done("1", "read", "{\n  a\n}\n"),
      call("2", "ls", {}),
      done("2", "ls", "src"),
      call("3", "bash", { command: "false" }),
      done("3", "bash", "exit code 1", true)
    ]
    expect(play(events)).toMatchObject({
      stdout: "",
      stderr: `▸ read {"path":"package.json"}
  ✓ { (+2 lines)
▸ ls
  ✓ src
▸ bash {"command":"false"}
  ✗ exit code 1
`
    })
  })

  it("that run side by side have their names at the end too", () => {
    const events = [
      call("1", "read", { path: "a" }),
      call("2", "read", { path: "b" }),
      done("2", "read", "two"),
      done("1", "read", "one\nmore"),
      call("3", "ls", {}),
      text("meanwhile\n"),
      done("3", "ls", "three")
    ]
    expect(play(events).stderr).toBe(`▸ read {"path":"a"}
▸ read {"path":"b"}
  ✓ two
✓ read {"path":"a"}: one (+1 line)
▸ ls
✓ ls: three
`)
  })

  it("have their names at the end where another call's end stands between", () => {
    const events = [call("1", "a", {}), call("2", "b", {}), done("1", "a", "one"), done("2", "b", "two")]
    expect(play(events).stderr).toBe("▸ a\n▸ b\n✓ a: one\n✓ b: two\n")
  })

  it("end the line of the answer that stands before them", () => {
    const events = [text("Let me see"), call("1", "ls", {}), done("1", "ls", "src")]
    expect(play(events)).toEqual({
      stdout: "Let me see\n",
      stderr: "▸ ls\n  ✓ src\n",
      terminal: "Let me see\n▸ ls\n  ✓ src\n"
    })
  })

  it("are cut to a line", () => {
    const long = "x".repeat(1000)
    const lines = play([call("1", long, { long }), done("1", long, `\n\n ${long}\n${long}`)]).stderr.split("\n")
    expect(lines.map(({ length }) => length)).toEqual([2 + MAX_LENGTH + 1 + MAX_LENGTH, 4 + MAX_LENGTH + 10, 0])
  })

  it("that give nothing to read say what they gave", () => {
    const events = [
      call("1", "a", {}),
      done("1", "a", {}),
      call("2", "b", {}),
      done("2", "b", { content: null }),
      call("3", "c", {}),
      done("3", "c", { content: [{ type: "image", data: "", mimeType: "image/png" }] }),
      call("4", "d", {}),
      done("4", "d", " \n\t\n")
    ]
    expect(play(events).stderr.match(/(?<=✓ ).*/g)).toEqual([
      "no output",
      "no output",
      "[image/png image]",
      "no output"
    ])
  })
})

describe("thinking", () => {
  it("goes to standard error, on lines of its own", () => {
    const events = [
      start(),
      thinking("Let me"),
      thinking(" see.\nSo:"),
      thinkingEnd(),
      text("Yes", 1),
      textEnd(1),
      end()
    ]
    expect(play(events)).toEqual({
      stdout: "Yes\n",
      stderr: "thinking: Let me see.\nSo:\n",
      terminal: "thinking: Let me see.\nSo:\nYes\n"
    })
  })

  it("between two deltas of the answer leaves the answer as it is", () => {
    const events = [text("He"), thinking("hm", 1), text("llo"), textEnd(), thinkingEnd(1), end()]
    expect(play(events)).toEqual({
      stdout: "Hello\n",
      stderr: "\nthinking: hm\n",
      terminal: "He\nthinking: hm\nllo\n"
    })
  })

  it("that has only half a character so far waits for the other half", () => {
    expect(play([thinking("\ud83d")]).terminal).toBe("")
    expect(play([thinking("\ud83d"), thinking("\ude00")]).terminal).toBe("thinking: 😀")
  })

  it("that is redacted, and so has no text, leaves no trace", () => {
    const events = [start(), update({ type: "thinking_start", contentIndex: 0, redacted: true }), thinkingEnd(), end()]
    expect(play(events).terminal).toBe("")
  })
})

describe("what went wrong", () => {
  it("a retry says that what was shown is discarded", () => {
    const events = [start(), text("Hel"), retry("Overloaded."), start(), text("Hello"), textEnd(), end()]
    expect(play(events)).toEqual({
      stdout: "Hel\nHello\n",
      stderr: "↻ Overloaded. Retry 1 begins in 1.5 s; what was shown of this answer is discarded.\n",
      terminal: "Hel\n↻ Overloaded. Retry 1 begins in 1.5 s; what was shown of this answer is discarded.\nHello\n"
    })
  })

  it("a retry of what was not shown says nothing of that", () => {
    const waits = "↻ Overloaded. Retry 1 begins in 1.5 s.\n"
    expect(play([retry("Overloaded.")]).stderr).toBe(waits)
    expect(play([start(), text(""), retry("Overloaded.")]).stderr).toBe(waits)
    expect(play([start(), text("Hel"), end(), start(), retry("Overloaded.")]).stderr).toBe(waits)
    expect(play([start(), text("Hel"), retry("x"), start(), retry("Overloaded.")]).stderr).toContain(waits)
    expect(play([start(), thinking("hm"), retry("Overloaded.")]).stderr).toContain("discarded")
  })

  it("a delay is told to a tenth of a second", () => {
    expect(play([{ ...retry("x"), delayMs: 1234.5 } as AgentEvent]).stderr).toContain("in 1.2 s")
  })

  it("half a character that was discarded does not reach the next answer", () => {
    expect(play([text("a\ud83d"), retry("x"), text("\ude00b")]).stdout).toBe("a\n\ude00b")
  })

  it("a failed response says why, after what there is of it", () => {
    const failed = end({ stopReason: "error", errorMessage: "No network:\n try again" })
    expect(play([start(), text("Hel"), failed, agentEnd("error")])).toEqual({
      stdout: "Hel\n",
      stderr: "✗ No network: try again\n",
      terminal: "Hel\n✗ No network: try again\n"
    })
  })

  it("an aborted run says so, and what was there stays", () => {
    const events = [start(), text("Hel"), end({ stopReason: "aborted", errorMessage: "x" }), agentEnd("aborted")]
    expect(play(events)).toMatchObject({ stdout: "Hel\n", stderr: "! aborted\n" })
  })

  it("a run that met its limit says so", () => {
    expect(play([agentEnd("limit")]).stderr).toContain("--max-turns")
  })

  it.each(["completed", "terminated", "stopped"] as const)("a run that ended as %s says nothing more", (reason) => {
    expect(play([agentEnd(reason)]).terminal).toBe("")
  })

  it("an answer that was cut off, or refused, says so", () => {
    expect(play([end({ stopReason: "length" })]).stderr).toContain("cut off")
    expect(play([end({ stopDetail: { type: "refusal", message: "not this" } })]).stderr).toContain("refusal: not this")
    expect(play([end({ stopDetail: { type: "pause_turn" } })]).stderr).toContain("end: pause_turn\n")
  })
})

/** One event of each kind that prints, with a text wherever a model, a tool or a provider may put one. */
const everywhere = (hostile: string): ReadonlyArray<AgentEvent> => [
  start({ content: [{ type: "text", text: hostile }] }),
  text(hostile),
  textEnd(),
  thinking(hostile),
  thinkingEnd(),
  end({ stopReason: "error", errorMessage: hostile, stopDetail: { type: hostile, message: hostile } }),
  call(hostile, hostile, { [hostile]: [hostile] }),
  call("other", hostile, hostile),
  done(hostile, hostile, hostile, true),
  done("other", hostile, { content: [{ type: "image", data: "", mimeType: hostile }], details: hostile }),
  done("unknown", hostile, hostile),
  retry(hostile),
  agentEnd("aborted")
]

describe("hostile text", () => {
  it.effect.prop("does nothing to a terminal, wherever it stands", [hostileDeltas], ([deltas]) =>
    Effect.gen(function* () {
      const events = deltas.flatMap((delta) => [text(delta), thinking(delta, 1)])
      const { terminal } = play([...events, ...everywhere(deltas.join(""))])
      expect(yield* show(terminal)).toEqual({ effects: [], ...plain(terminal) })
    })
  )

  it("does nothing before half a character either", () => {
    expect(play([text("\x1b[2J\ud83d"), thinking("\x1b[2J\ud83d", 1)]).terminal).toBe("␛[2J\nthinking: ␛[2J")
  })

  it.effect.prop("does nothing between colours either", [hostileDeltas], ([deltas]) =>
    Effect.gen(function* () {
      const events = [...deltas.map((delta) => thinking(delta)), ...everywhere(deltas.join(""))]
      const { terminal } = play(events)
      const coloured = play(events, { colours: true }).terminal
      expect(coloured).not.toBe(terminal)
      expect(yield* show(coloured)).toEqual(yield* show(terminal))
    })
  )
})

describe("colours", () => {
  it("are on standard error alone, and each is ended where it began", () => {
    const { stderr, stdout } = play([text("Hi"), textEnd(), ...everywhere("x")], { colours: true })
    expect(stdout).not.toContain("\x1b")
    const codes = stderr
      .split("\x1b[")
      .slice(1)
      .map((part) => Number.parseInt(part, 10))
    expect(codes.length).toBeGreaterThan(10)
    expect(codes.map((code) => code === 0)).toEqual(codes.map((_, index) => index % 2 === 1))
  })

  it("thinking is dimmed", () => {
    expect(play([thinking("hm")], { colours: true }).stderr).toBe("\x1b[2mthinking: hm\x1b[0m")
  })
})
