import { defineConfig } from "vitest/config"

export default defineConfig({
  // The examples import the package by its name, which for tests is its source.
  resolve: { tsconfigPaths: true },
  test: {
    include: ["test/**/*.test.ts"],
    testTimeout: 20_000,
    watch: false
  }
})
