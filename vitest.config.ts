import { defineConfig } from "vitest/config"

export default defineConfig({
  // The examples import the package by its name, which for tests is its source.
  resolve: { tsconfigPaths: true },
  test: {
    include: ["test/**/*.test.ts", "examples/testing/*.test.ts"],
    // The same for everyone: nobody's key chooses another provider.
    env: { ANTHROPIC_API_KEY: "", ANTHROPIC_AUTH_TOKEN: "", ANTHROPIC_BASE_URL: "" },
    testTimeout: 20_000,
    watch: false
  }
})
