/** What tests of agents use. */
export * as TraceChecker from "./TraceChecker.ts"
