/** What tests of agents use. */
export * as Faults from "./Faults.ts"
export * as Invariant from "./Invariant.ts"
export * as Recording from "./Recording.ts"
export * as Simulation from "./Simulation.ts"
export * as TraceChecker from "./TraceChecker.ts"
export * as World from "./World.ts"
export * as Worlds from "./Worlds.ts"
