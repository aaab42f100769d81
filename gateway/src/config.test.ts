import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigError, parseConfig } from "./config.ts";

test("without any variable the defaults hold", () => {
  const config = parseConfig({});
  assert.equal(config.port, 8080);
  assert.equal(config.internalPort, 9090);
  assert.equal(config.databaseUrl, undefined);
  assert.equal(config.dispatchDeadlineMs, 10_000);
  assert.equal(parseConfig({ PORT: "" }).port, 8080, "an empty variable is not set");
});

test("every mistake is reported at once, each with its variable", () => {
  const env = {
    PORT: "eighty",
    INTERNAL_PORT: "70000",
    DATABASE_URL: "mysql://x",
    LOG_LEVEL: "loud",
    KEY_PEPPER: "short",
  };
  assert.throws(
    () => parseConfig(env),
    (error: ConfigError) => {
      assert.ok(error instanceof ConfigError);
      for (const name of Object.keys(env)) {
        assert.ok(
          error.mistakes.some((mistake) => mistake.startsWith(name)),
          `${name} in ${error.message}`,
        );
      }
      return !error.message.includes("\n");
    },
  );
});

test("a shared database needs a shared pepper", () => {
  assert.throws(() => parseConfig({ DATABASE_URL: "postgres://localhost/x" }), /KEY_PEPPER/);
  assert.ok(parseConfig({ DATABASE_URL: "postgres://localhost/x", KEY_PEPPER: "p".repeat(32) }));
});
