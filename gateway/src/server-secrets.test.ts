import assert from "node:assert/strict";
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { parseConfig } from "./config.ts";
import { loadServerSecrets, removeReplacedSecret, replaceStoredSecret, secretsFileIn } from "./server-secrets.ts";

async function openPlace(t: TestContext) {
  const dataDir = await mkdtemp(join(tmpdir(), "tollgate-secrets-"));
  t.after(() => rm(dataDir, { recursive: true }));
  const read = (env: Record<string, string> = {}) => loadServerSecrets(parseConfig({ ...env, DATA_DIR: dataDir }));
  return { dataDir, read };
}

test("secrets are generated once, are readable only by their owner, and are overridden by configured ones", async (t) => {
  const { dataDir, read } = await openPlace(t);
  const made = await read();
  assert.equal(made.pepper, (await read()).pepper);
  assert.equal((await stat(secretsFileIn(dataDir))).mode & 0o777, 0o600);
  const configured = await read({ KEY_PEPPER: "p".repeat(32), KEY_PEPPER_OLD: "o".repeat(32) });
  assert.deepEqual([configured.pepper, configured.pepperOld], ["p".repeat(32), "o".repeat(32)]);
  assert.equal(configured.receiptSeed, made.receiptSeed);
});

test("replacing a stored secret keeps the old one until it is removed, and refuses a second replacement before that", async (t) => {
  const { dataDir, read } = await openPlace(t);
  await assert.rejects(replaceStoredSecret(dataDir, "pepper"), /no platform was started/);
  const before = await read();
  await before.keepPlaneSeed("the plane's first");
  await replaceStoredSecret(dataDir, "pepper");
  const during = await read();
  assert.notEqual(during.pepper, before.pepper);
  assert.equal(during.pepperOld, before.pepper);
  await assert.rejects(replaceStoredSecret(dataDir, "pepper"), /already being replaced. Finish that replacement first/);

  await replaceStoredSecret(dataDir, "plane");
  const planeless = await read();
  assert.deepEqual([planeless.planeSeed, planeless.planeSeedOld], [undefined, "the plane's first"]);
  await planeless.keepPlaneSeed("the plane's second");
  const both = await read();
  assert.deepEqual([both.planeSeed, both.planeSeedOld], ["the plane's second", "the plane's first"]);

  await replaceStoredSecret(dataDir, "receipts");
  assert.notEqual((await read()).receiptSeed, before.receiptSeed);

  assert.equal(await removeReplacedSecret(dataDir, "pepper"), true);
  assert.equal(await removeReplacedSecret(dataDir, "plane"), true);
  assert.equal(await removeReplacedSecret(dataDir, "plane"), false);
  const { pepper, pepperOld, planeSeed, planeSeedOld } = await read();
  assert.deepEqual([pepper, pepperOld], [during.pepper, undefined]);
  assert.deepEqual([planeSeed, planeSeedOld], ["the plane's second", undefined]);
});

test("a damaged secrets file stops the start instead of generating new secrets", async (t) => {
  const { dataDir, read } = await openPlace(t);
  await writeFile(secretsFileIn(dataDir), "{");
  await assert.rejects(read(), /is damaged/);
});
