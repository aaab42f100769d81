/** A command may load only the modules that it needs, because loading delays the user. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const TOLLGATE = fileURLToPath(new URL("../../bin/tollgate.mjs", import.meta.url));
/** A module that prints the URL of every module that a process loads. */
const TELLING = `import { registerHooks } from "node:module";
import { writeSync } from "node:fs";
registerHooks({ load(url, context, next) { writeSync(2, url + "\\n"); return next(url, context); } });`;
/**
 * Modules that a simple command must not load: the gateway, and libraries that only the gateway or one command needs.
 */
const HEAVY =
  /\/src\/(main|build|build\/plane|accounts\/(auth|identities)|plane\/hub\/hub|http\/server|site\/public-server|metering\/metering)\.ts$|\/(better-auth|kysely|fastify|@nats-io|stripe|ioredis)\//;

for (const args of [["--version"], ["admin", "--help"], ["admin", "account", "suspend"]]) {
  test(`tollgate ${args.join(" ")} does not load the gateway's modules`, async () => {
    const preload = `data:text/javascript,${encodeURIComponent(TELLING)}`;
    const run = promisify(execFile)(process.execPath, ["--import", preload, TOLLGATE, ...args]);
    const { stderr } = await run.catch((error: { stderr: string }) => error);
    const loaded = stderr.split("\n").filter((line) => line.startsWith("file:"));
    assert.ok(
      loaded.some((url) => url.endsWith("/src/commands/cli.ts")),
      stderr,
    );
    assert.deepEqual(
      loaded.filter((url) => HEAVY.test(url)),
      [],
    );
  });
}
