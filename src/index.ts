/** The public modules of the core, one line each. Providers, tools and test equipment have entries of their own. */
export * as AgentEvent from "./AgentEvent.ts"
export * as Loop from "./Loop.ts"
export * as Message from "./Message.ts"
export * as Hooks from "./services/Hooks.ts"
export * as Provider from "./services/Provider.ts"
export * as Toolset from "./services/Toolset.ts"
export * as Tool from "./Tool.ts"
