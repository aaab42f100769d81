/**
 * Tests node credentials that expire after seconds: an agent renews them while it works, and requests are not affected.
 */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { sendScriptedChat } from "@tollgate/stage/builder-requests.ts";
import { createDataDir, type Platform, removeDataDir, startPlatform } from "@tollgate/stage/dev-platform.ts";
import { describeOnEveryPlane, type RunningPlane } from "@tollgate/stage/dispatch-planes.ts";
import { readLastRecord } from "@tollgate/stage/ledger-check.ts";

/**
 * The lifetime of credentials in seconds. Agents renew after two thirds; the remaining 8 s are enough even on a very
 * busy machine.
 */
const LIFE_S = 24;
const DELTA_MS = 200;

describeOnEveryPlane("renewal", (openPlane) => {
  let plane: RunningPlane;
  let dataDir: string;
  let platform: Platform;
  before(async () => {
    dataDir = await createDataDir();
    plane = await openPlane();
    const env = { ...plane.env, PLANE_CREDENTIAL_TTL_S: String(LIFE_S) };
    platform = await startPlatform(dataDir, ["--engine", "scripted", "--models", "tiny-3b"], env);
  });
  after(async () => {
    assert.equal(await platform?.stop(), 0);
    await plane?.close();
    await removeDataDir(dataDir);
  });

  test("an answer that takes longer than two lifetimes of its node's credentials arrives complete", async () => {
    const tokens = ((2 * LIFE_S + 2) * 1000) / DELTA_MS;
    const response = await sendScriptedChat(platform, { tokens, delta_ms: DELTA_MS }, { stream: true });
    const text = await response.text();
    assert.match(text, /data: \[DONE\]\s*$/);
    const { outcome, attempts, completion_tokens } = await readLastRecord(platform);
    assert.deepEqual([outcome, attempts], ["ok", 1]);
    assert.ok(completion_tokens >= tokens);
    const log = await readFile(join(dataDir, "gateway.log"), "utf8");
    assert.doesNotMatch(log, /node offline/);
  });
});
