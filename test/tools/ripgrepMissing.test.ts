import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { vi } from "vitest"
import * as Find from "../../src/tools/Find.ts"
import * as Grep from "../../src/tools/Grep.ts"
import { failureOf, services } from "./support.ts"

// As the package does where there is no binary for the system.
vi.mock("@vscode/ripgrep", () => {
  throw new Error("Unsupported platform")
})

it.live("without a ripgrep for the system, the tools say so", () =>
  Effect.gen(function* () {
    const message =
      "ripgrep is missing: the package @vscode/ripgrep has none for this system. " +
      "Reinstall the packages of this agent, or search with bash."
    expect(yield* failureOf(Grep.tool, { pattern: "x" })).toBe(message)
    expect(yield* failureOf(Find.tool, { pattern: "x" })).toBe(message)
  }).pipe(Effect.provide(services))
)
