// The deliberate faults of `npm run mutants` fit the source as it is, and the hunt for them finds a fault and nothing else.
import { describe, expect, it } from "vitest"
import { faults } from "./mutants/faults.ts"
import { huntFor, mutate } from "./mutants/mutant.ts"

describe("each deliberate fault", () => {
  for (const fault of faults) {
    it(`is one change of a text that is in the source once: ${fault.name}`, async () => {
      expect(await mutate(fault)).toContain(fault.replacement)
    })
  }
})

describe("the hunt", () => {
  it("finds a fault, and says which promise it breaks", async () => {
    const fault = faults.find(({ name }) => name === "a second agent_end")
    expect(await huntFor(fault, 15, "1")).toMatchObject({ invariant: "endIsLastAndOnce" })
  }, 60_000)

  it("finds nothing where there is no fault", async () => {
    const found = await huntFor(undefined, 1, "1")
    expect(found?.worlds).toBeGreaterThan(0)
    expect(found?.invariant).toBeUndefined()
  }, 60_000)

  it("says that the text of a fault is gone", async () => {
    expect(await huntFor({ ...faults[0]!, text: "nowhere in the source" }, 1, "1")).toBeUndefined()
  })
})
