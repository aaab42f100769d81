/**
 * A whole platform to fuzz: credit and limits that no run exhausts, and what must be true of it afterwards, whether requests
 * were sent to it or frames (`plane/plane-platform.ts`). Its database is a private one, because that one's log is looked at.
 */
import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { PRIVATE_DATABASE } from "@tollgate/stage/database.ts";
import { isAlive, newDataDir, type Platform, raiseLimits, removeDataDir, startPlatform } from "@tollgate/stage/dev.ts";
import { assertBalanced, builder } from "@tollgate/stage/ledger-check.ts";
import { eventually, unlessHung } from "@tollgate/stage/wait.ts";
import type { Target } from "./target.ts";

const CREDIT_PICO = 1_000n * 10n ** 12n;
/** pino's level of an error. */
const ERROR = 50;

export interface FuzzPlatform {
  platform: Platform;
  target: Target;
  close(): Promise<void>;
}

export async function openFuzzPlatform({
  flags = [],
  env = {},
}: {
  flags?: string[];
  env?: Record<string, string>;
} = {}): Promise<FuzzPlatform> {
  const dataDir = await newDataDir();
  const platform = await startPlatform(dataDir, ["--engine", "scripted", ...flags], { ...PRIVATE_DATABASE, ...env });
  await raiseLimits(platform);
  await platform.query("update api_key set tokens_per_minute_max = 1000000000");
  const { id } = await builder(platform);
  const grant = "select ledger_transfer(gen_random_uuid(), 'grant', $1, $2, 'fuzz')";
  await platform.query(grant, [id, String(CREDIT_PICO)]);
  const { base_url: baseUrl, api_key: key } = platform.ready;
  return {
    platform,
    target: { port: Number(new URL(baseUrl).port), key },
    async close() {
      const code = await unlessHung("the platform stops when it is asked to", platform.stop()).catch((error) => {
        platform.process.kill("SIGKILL");
        throw error;
      });
      await removeDataDir(dataDir);
      assert.equal(code, 0, "the platform stops without an error");
    },
  };
}

/** After any run: no hold is left, the books balance, every process lives. Throws on the first thing that is not so. */
export async function assertIntact(platform: Platform): Promise<void> {
  await eventually("no hold is left", async () => (await platform.query("select id from hold")).length === 0);
  await assertBalanced(platform);
  const { gateway, postgres, nodes } = platform.ready.pids;
  for (const pid of [gateway, postgres as number, ...nodes]) assert.ok(isAlive(pid), `process ${pid} lives on`);
}

/** After a run of requests: besides, so many are on record as were served, it serves on, and no log has an error. */
export async function assertUnharmed(platform: Platform, served: number): Promise<void> {
  await assertIntact(platform);
  await assertRecorded(platform, served);
  await assertServes(platform);
  await assertQuietLogs(platform);
}

/** Every answer is on record, and every record is of an answer or of a client that left. */
async function assertRecorded(platform: Platform, served: number): Promise<void> {
  const rows = await platform.query<{ outcome: string; count: string }>(
    "select outcome, count(*) from request group by 1 order by 1",
  );
  const outcomes = new Map(rows.map(({ outcome, count }) => [outcome, Number(count)]));
  const odd = [...outcomes.keys()].filter((outcome) => outcome !== "ok" && outcome !== "client_closed");
  assert.deepEqual(odd, [], "nothing ended but well, or with a client that left");
  const ok = outcomes.get("ok") ?? 0;
  assert.ok(ok >= served, `${served} answers, and ${ok} on record`);
}

async function assertServes({ ready }: Platform): Promise<void> {
  const response = await fetch(`${ready.base_url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${ready.api_key}` },
    body: JSON.stringify({ model: "tiny-3b", messages: [{ role: "user", content: "Are you well?" }], max_tokens: 5 }),
  });
  assert.equal(response.status, 200, await response.text());
}

async function assertQuietLogs({ dataDir }: Platform): Promise<void> {
  const log = await readFile(join(dataDir, "gateway.log"), "utf8");
  const errors = log
    .split("\n")
    .filter((line) => line !== "" && (JSON.parse(line) as { level: number }).level >= ERROR);
  assert.deepEqual(errors.slice(0, 3), [], `the gateway logged ${errors.length} errors`);
  for (const file of globSync("postgres/**/*.log", { cwd: dataDir })) {
    const lines = (await readFile(join(dataDir, file), "utf8")).split("\n");
    const bad = lines.filter((line) => /\b(ERROR|FATAL|PANIC):/.test(line));
    assert.deepEqual(bad.slice(0, 3), [], `the database logged ${bad.length} errors`);
  }
}
