// The agent against the recorded runs of the reference, case by case.
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { parse, runCase, summarise, type Verdict } from "./runner.ts"

const file = fileURLToPath(new URL("agent.jsonl", import.meta.url))
const cases = Effect.runSync(parse(file, readFileSync(file, "utf8")))

describe("the agent equals the reference", () => {
  const verdicts: Array<Verdict> = []

  it.effect.each(cases)("$id: $title", (of) =>
    Effect.gen(function* () {
      const verdict = yield* runCase(of)
      verdicts.push(verdict)
      expect(verdict).toMatchObject({ _tag: of.differs === undefined ? "Equal" : "Differs", what: "" })
    })
  )

  it("in 110 of 125 cases, and differs on purpose in 15", () => {
    expect(summarise(verdicts)).toBe("110 of 125 equal, 15 differ on purpose, 0 failed")
  })
})
