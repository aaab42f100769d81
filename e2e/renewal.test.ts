/** Credentials that live for seconds: an agent renews them while it works, and nobody notices. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { lastRecord } from "./ledger-check.ts";
import { type OpenPlane, onEveryPlane } from "./planes.ts";
import { chat, newDataDir, type Platform, removeDataDir, startPlatform } from "./platform.ts";

/** Renewed after two thirds: the rest is enough for a busy machine. */
const LIFE_S = 12;

onEveryPlane("renewal", (openPlane) => {
  let plane: OpenPlane;
  let dataDir: string;
  let platform: Platform;
  before(async () => {
    dataDir = await newDataDir();
    plane = await openPlane();
    const env = { ...plane.env, PLANE_CREDENTIAL_TTL_S: String(LIFE_S) };
    platform = await startPlatform(dataDir, ["--engine", "scripted", "--models", "tiny-3b"], env);
  });
  after(async () => {
    assert.equal(await platform?.stop(), 0);
    await plane?.close();
    await removeDataDir(dataDir);
  });

  test("an answer that takes longer than three lives of its node's credentials is whole", async () => {
    const tokens = 190;
    const response = await chat(platform, { tokens, delta_ms: (3 * LIFE_S * 1000) / 180 }, { stream: true });
    const text = await response.text();
    assert.match(text, /data: \[DONE\]\s*$/);
    const { outcome, attempts, completion_tokens } = await lastRecord(platform);
    assert.deepEqual([outcome, attempts], ["ok", 1]);
    assert.ok(completion_tokens >= tokens);
    const log = await readFile(join(dataDir, "gateway.log"), "utf8");
    assert.doesNotMatch(log, /a node went offline/);
  });
});
