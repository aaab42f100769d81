/** A gateway whose limits server freezes: one that refuses, and one that counts alone. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { newDataDir, type Platform, removeDataDir, startPlatform } from "@tollgate/stage/dev.ts";
import { chat } from "@tollgate/stage/requests.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { findServer, startServer, type TestServer } from "../gateway/src/limits/testing.ts";

const binary = findServer();
const skip = binary === undefined && "neither valkey-server nor redis-server is installed";

for (const whenAway of ["refuse", "local"] as const) {
  describe(`limits away: ${whenAway}`, { skip }, () => {
    let dataDir: string;
    let server: TestServer;
    let platform: Platform;
    let internal: string;
    before(async () => {
      dataDir = await newDataDir();
      server = await startServer(binary as string);
      const settings = { VALKEY_URL: server.url, LIMITS_WHEN_AWAY: whenAway };
      platform = await startPlatform(dataDir, ["--engine", "scripted", "--models", "tiny-3b"], settings);
      const log = await readFile(join(dataDir, "gateway.log"), "utf8");
      internal = `http://127.0.0.1:${/"internalPort":(\d+)/.exec(log)?.[1]}`;
    });
    after(async () => {
      server?.thaw();
      assert.equal(await platform?.stop(), 0);
      await server?.kill();
      await removeDataDir(dataDir);
    });
    const status = async (): Promise<number> => (await chat(platform, { text: "hi" })).status;
    const limitsAre = async (state: string): Promise<boolean> => {
      const { dependencies } = (await (await fetch(`${internal}/readyz`)).json()) as {
        dependencies: Record<string, string>;
      };
      return dependencies.limits === state;
    };

    test("frozen and thawed again", async () => {
      await eventually("it serves", async () => (await limitsAre("up")) && (await status()) === 200);
      server.freeze();
      const answer = await chat(platform, { text: "hi" });
      assert.ok(await limitsAre("away"));
      const ready = await fetch(`${internal}/readyz`);
      if (whenAway === "refuse") {
        assert.equal(answer.status, 503);
        assert.ok(Number(answer.headers.get("retry-after")) > 0);
        assert.equal(await status(), 503);
        assert.equal(ready.status, 503);
      } else {
        assert.equal(answer.status, 200);
        assert.equal(answer.headers.get("x-ratelimit-limit-requests"), "600", "one gateway's share is the whole");
        assert.equal(await status(), 200);
        assert.equal(ready.status, 200);
      }
      const metrics = await (await fetch(`${internal}/metrics`)).text();
      assert.match(metrics, /^tollgate_limits_unavailable_total\{cause="timeout"\} [1-9]/m);
      server.thaw();
      await eventually("it is back", async () => (await limitsAre("up")) && (await status()) === 200);
    });
  });
}
