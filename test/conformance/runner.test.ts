// The runner itself: that it sees a difference, also in cases that differ on purpose, and says what is wrong with a file.
import * as NodeServices from "@effect/platform-node/NodeServices"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FileSystem from "effect/FileSystem"
import * as TestClock from "effect/testing/TestClock"
import * as TestConsole from "effect/testing/TestConsole"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type * as Tool from "../../src/Tool.ts"
import { runFiles } from "./command.ts"
import { firstDifference } from "./compare.ts"
import { checkDiffering } from "./differences.ts"
import * as Observer from "./observer.ts"
import { play } from "./play.ts"
import { parse, runCase } from "./runner.ts"
import type { LoopCase, Recording } from "./scenario.ts"
import * as Tools from "./tools.ts"

const file = fileURLToPath(new URL("loop.jsonl", import.meta.url))
const text = readFileSync(file, "utf8")
const cases = Effect.runSync(parse(file, text))

const caseOf = (id: string) => cases.find((of) => of.id === id) as LoopCase
const lineOf = (id: string) => text.split("\n").find((line) => line.includes(`"${id}"`))!

/** A copy in which a text is another one wherever it stands. */
const replaced = <A>(value: A, from: string, to: string): A =>
  JSON.parse(JSON.stringify(value).replaceAll(from, to)) as A

const recordingOf = Effect.fnUntraced(function* (of: LoopCase) {
  const { recording } = yield* play(of.scenario)
  return recording!
})

describe("a difference is seen", () => {
  const doctored: ReadonlyArray<readonly [string, (recording: Recording) => object]> = [
    [
      "events[4].message.role",
      ({ events }) => ({
        events: events.with(4, { ...events[4], message: { ...(events[4]!["message"] as object), role: "x" } })
      })
    ],
    ["events[11]", ({ events }) => ({ events: events.slice(0, -1) })],
    ["newMessages[0].content", ({ newMessages }) => ({ newMessages: newMessages!.with(0, { role: "user" }) })],
    ["requests[0].apiKey", ({ requests }) => ({ requests: requests.with(0, { ...requests[0], apiKey: "k" }) })],
    ["hooks[1].at", ({ hooks }) => ({ hooks: hooks.with(1, { ...hooks[1], at: 5 }) })],
    ["times[3]", ({ times }) => ({ times: times.with(3, 1) })],
    ["endMs", () => ({ endMs: 1 })],
    ["error", () => ({ error: "e" })]
  ]

  it.effect.each(doctored)("at %s", ([path, doctor]) =>
    Effect.gen(function* () {
      const of = caseOf("loop-h001")
      const verdict = yield* runCase({ ...of, expected: { ...of.expected, ...doctor(of.expected) } })
      expect(verdict).toMatchObject({ _tag: "Failed" })
      expect(verdict.what).toSatisfy((what: string) => what.startsWith(`${path}: wanted `))
    })
  )

  it("and shown with what was wanted and got, each in bounds", () => {
    const { expected } = caseOf("loop-h001")
    const long = { ...expected, endMs: 7, times: [] }
    expect(firstDifference({ ...expected, endMs: 3, times: [] }, long)).toEqual({
      path: "endMs",
      wanted: "3",
      got: "7"
    })
    expect(firstDifference({ ...expected, error: "x".repeat(1000) }, expected)?.wanted).toHaveLength(201)
  })
})

describe("a case that differs on purpose fails", () => {
  const wrongIn = Effect.fnUntraced(function* (id: string, doctor: (got: Recording) => Recording) {
    const of = caseOf(id)
    const got = yield* recordingOf(of)
    expect(checkDiffering(of, got)).toBeUndefined()
    return checkDiffering(of, doctor(got))
  })

  it.effect("9.3: if what was streamed is lost", () =>
    Effect.gen(function* () {
      const lose = (got: Recording): Recording => ({
        ...got,
        newMessages: [...got.newMessages!.slice(0, -1), { ...got.newMessages!.at(-1)!, content: [] }]
      })
      expect(yield* wrongIn("loop-h154", lose)).toBe("item 9.3: what was streamed is lost")
    })
  )

  it.effect("9.3: if the error is another one, or none", () =>
    Effect.gen(function* () {
      const other = (got: Recording) => replaced(got, "cannot transform", "something else")
      expect(yield* wrongIn("loop-h149", other)).toBe('item 9.3: the error is told as "something else"')
      const none = (got: Recording) => replaced(got, '"stopReason":"error"', '"stopReason":"stop"')
      expect(yield* wrongIn("loop-h149", none)).toBe("item 9.3: the last message tells of no error")
    })
  )

  it.effect("9.3: if something before the failure is not as recorded, or a request comes after it", () =>
    Effect.gen(function* () {
      expect(yield* wrongIn("loop-h151", (got) => replaced(got, '"apiKey":"k"', '"apiKey":"x"'))).toMatch(
        /^item 9\.3: before the difference: requests\[0\]\.apiKey is "x", not "k"$/
      )
      const again = (got: Recording) => ({ ...got, requests: [...got.requests, ...got.requests] })
      expect(yield* wrongIn("loop-h151", again)).toBe("item 9.3: a request was made after the failure")
    })
  )

  it.effect("9.6: if anything but the ids differs", () =>
    Effect.gen(function* () {
      expect(yield* wrongIn("loop-h148", (got) => replaced(got, '"calc"', '"read"'))).toMatch(/^item 9\.6: apart from/)
    })
  )

  it.effect("9.7: if a null became a value, or a call ran that must not, or the other way round", () =>
    Effect.gen(function* () {
      const optional = yield* wrongIn("loop-h122", (got) => ({
        ...got,
        hooks: got.hooks.map((call) =>
          call["toolCallId"] === "c5" ? { ...call, args: { path: "a", limit: 0 } } : call
        )
      }))
      expect(optional).toBe('item 9.7: call "c5": it was executed with {"path":"a","limit":0}, not with {"path":"a"}')
      const execute = (toolCallId: string) => (got: Recording) => ({
        ...got,
        hooks: [...got.hooks, { hook: "execute", toolCallId, args: {} }]
      })
      expect(yield* wrongIn("loop-h120", execute("c2"))).toMatch(
        /"c2": it was executed though a required argument was null/
      )
      expect(yield* wrongIn("loop-h122", execute("c2"))).toMatch(
        /"c2": it was executed, and in the recording it was refused/
      )
      const refuse = (got: Recording) => ({ ...got, hooks: got.hooks.filter((call) => call["toolCallId"] !== "c1") })
      expect(yield* wrongIn("loop-h121", refuse)).toMatch(/"c1": it was refused, and in the recording it was executed/)
    })
  )

  it.effect("9.2: if a request was made that the recording does not have, or is another", () =>
    Effect.gen(function* () {
      const of = { ...caseOf("loop-h001"), differs: ["9.2"] }
      const got = yield* recordingOf(of)
      expect(checkDiffering(of, got)).toBeUndefined()
      expect(checkDiffering(of, { ...got, requests: [] })).toBeUndefined()
      expect(checkDiffering(of, { ...got, requests: [...got.requests, ...got.requests] })).toMatch(/a request was made/)
      expect(checkDiffering(of, replaced(got, '"apiKey":null', '"apiKey":"k"'))).toMatch(/requests\[0\]\.apiKey/)
    })
  )

  it.effect("9.10: if a call with broken arguments ran", () =>
    Effect.gen(function* () {
      const of = { ...caseOf("loop-h033"), differs: ["9.10"] }
      const got = yield* recordingOf(of)
      expect(checkDiffering(of, got)).toBeUndefined()
      const id = got.events.find((event) => event["type"] === "tool_execution_start")!["toolCallId"]!
      const ran = { ...got, hooks: [...got.hooks, { hook: "execute", toolCallId: id }] }
      expect(checkDiffering(of, ran)).toBe(`item 9.10: call "${String(id)}" ran, and its arguments are not valid JSON`)
    })
  )

  it.effect("if nobody knows what its item promises, or if the run does not end", () =>
    Effect.gen(function* () {
      expect(yield* runCase({ ...caseOf("loop-h001"), differs: ["9.99"] })).toMatchObject({
        _tag: "Failed",
        what: "there is no check for what item 9.99 promises"
      })
      const of = caseOf("loop-h001")
      const turns = [[{ type: "wait" as const, ms: 100_000 }]]
      const endless = { ...of, differs: ["9.3"], scenario: { ...of.scenario, provider: { turns } } }
      expect(yield* runCase(endless)).toMatchObject({ _tag: "Failed", what: "the run does not end" })
    })
  )
})

describe("a tool from data", () => {
  it.effect("reports also what stands after its end", () =>
    Effect.gen(function* () {
      const observer = yield* Observer.make
      const steps = [
        { atMs: 0, update: { content: [], details: "early" } },
        { atMs: 5, result: { content: null } },
        { atMs: 8, update: { content: [], details: "late" } }
      ]
      const definition = { name: "t", description: "", parameters: { type: "object" }, behaviours: { c1: steps } }
      const reports: Array<unknown> = []
      const call = { id: "c1_2", update: (report: unknown) => Effect.sync(() => reports.push(report)) }
      const fiber = yield* Effect.forkChild(Tools.make(definition, observer).execute({}, call as Tool.Call))
      yield* TestClock.adjust(5)
      expect(yield* Fiber.join(fiber)).toEqual({ content: null })
      expect(reports).toMatchObject([{ details: "early" }])
      yield* TestClock.adjust(3)
      expect(reports).toMatchObject([{ details: "early" }, { details: "late" }])
    })
  )
})

describe("the command", () => {
  /** The exit code and the lines that are printed for files of these contents. */
  const run = Effect.fnUntraced(function* (first: string, second = "") {
    const contents = [first, second]
    const fileSystem = yield* FileSystem.FileSystem
    const folder = yield* fileSystem.makeTempDirectoryScoped()
    const files = contents.map((_, index) => `${folder}/${index}.jsonl`)
    yield* Effect.forEach(contents, (content, index) => fileSystem.writeFileString(files[index]!, content))
    const code = yield* runFiles(files)
    const lines = (yield* TestConsole.logLines) as ReadonlyArray<string>
    const errors = (yield* TestConsole.errorLines) as ReadonlyArray<string>
    return { code, lines, errors: errors.map((line) => line.replaceAll(`${folder}/`, "")) }
  }, Effect.provide(NodeServices.layer))

  it.effect("runs the cases of all files, of loops and of agents", () =>
    Effect.gen(function* () {
      const [agentCase = ""] = readFileSync(fileURLToPath(new URL("agent.jsonl", import.meta.url)), "utf8").split("\n")
      const { code, lines } = yield* run(`${lineOf("loop-h001")}\n${agentCase}\n`, `${lineOf("loop-h120")}\n\n`)
      expect(lines).toEqual(["2 of 3 equal, 1 differ on purpose, 0 failed"])
      expect(code).toBe(0)
    })
  )

  it.effect("prints a line for a case that is not equal, and exits with 1", () =>
    Effect.gen(function* () {
      const { code, lines } = yield* run(lineOf("loop-h001").replace('"endMs":0', '"endMs":1'))
      expect(lines).toEqual([
        "loop-h001 (one prompt, one text answer): endMs: wanted 1, got 0",
        "0 of 1 equal, 0 differ on purpose, 1 failed"
      ])
      expect(code).toBe(1)
    })
  )

  it.effect("says in one sentence what is wrong with a file, and exits with 2", () =>
    Effect.gen(function* () {
      const notJson = yield* run(`${lineOf("loop-h001")}\n{"id"`)
      expect(notJson).toMatchObject({ code: 2, lines: [], errors: ["0.jsonl, line 2: Expected a valid JSON string"] })
    })
  )

  it.effect("names what a case lacks", () =>
    Effect.gen(function* () {
      const { code, errors } = yield* run('{ "id": "x" }')
      expect(errors).toEqual(['0.jsonl, line 1: Missing key at ["title"]'])
      expect(code).toBe(2)
    })
  )

  it.effect("names a file that is missing", () =>
    Effect.gen(function* () {
      expect(yield* runFiles(["/nowhere/x.jsonl"])).toBe(2)
      expect(yield* TestConsole.errorLines).toEqual(['There is no file "/nowhere/x.jsonl".'])
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("asks for a file", () =>
    Effect.gen(function* () {
      expect(yield* runFiles([])).toBe(2)
      expect(yield* TestConsole.errorLines).toEqual(["Usage: npm run conformance -- FILE..."])
    }).pipe(Effect.provide(NodeServices.layer))
  )
})
