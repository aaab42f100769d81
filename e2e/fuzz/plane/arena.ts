/** A whole platform for a run, with hostile nodes on it, and what must be true of it at any time. */
import assert from "node:assert/strict";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { parseId } from "../../../gateway/src/base/ids.ts";
import { assertBalanced, builder } from "../../books.ts";
import {
  eventually,
  isAlive,
  newDataDir,
  type Platform,
  raiseLimits,
  removeDataDir,
  startPlatform,
} from "../../platform.ts";
import { INSPECTED, MemoryProbe } from "../memory.ts";
import type { Target } from "../target.ts";
import type { Tally } from "./campaign.ts";
import { BAIT_MODEL, HONEST_MODEL } from "./clients.ts";
import { LoopMeter } from "./loop-meter.ts";
import { RawNode } from "./raw-node.ts";

const HOSTILE_NODES = 4;
const CREDIT_PICO = 1_000n * 10n ** 12n;
/** The time that requests under way have, and some more. */
const STOP_MS_MAX = 45_000;
/** What a run may write to the log: so much whatever it does, and a line for each request that ended badly. */
const LOG_BYTES_MAX = 256 * 1024;
const LOG_BYTES_PER_FAILURE = 1024;

export interface Arena {
  platform: Platform;
  target: Target;
  nodes: RawNode[];
  probe: MemoryProbe;
  loop: LoopMeter;
  logBytes(): Promise<number>;
  /** Throws on the first thing that is not as it should be: books, charges, processes, the log. */
  assertUnharmed(tally: Tally, logBytesBefore: number): Promise<void>;
  close(): Promise<void>;
}

export async function openArena(): Promise<Arena> {
  const dataDir = await newDataDir();
  const loaded = ["./lift-bounds.ts", "./time-reads.ts"].map(
    (file) => `--import ${new URL(file, import.meta.url).href}`,
  );
  const env = { NODE_OPTIONS: [INSPECTED, ...loaded].join(" "), AUTO_QUARANTINE: "false" };
  const platform = await startPlatform(
    dataDir,
    ["--engine", "scripted", "--nodes", "2", "--models", HONEST_MODEL],
    env,
  );
  await raiseLimits(platform);
  await platform.query("update api_key set tokens_per_minute_max = 1000000000");
  const { id } = await builder(platform);
  await platform.query("select ledger_transfer(gen_random_uuid(), 'grant', $1, $2, 'fuzz')", [id, String(CREDIT_PICO)]);
  const names = Array.from({ length: HOSTILE_NODES }, (_, i) => `hostile-${i}`);
  const nodes = await Promise.all(names.map((name) => RawNode.join(platform, name, [BAIT_MODEL])));
  const probe = await MemoryProbe.open(platform);
  const { base_url: baseUrl, api_key: key } = platform.ready;
  const logBytes = async (): Promise<number> => (await stat(join(dataDir, "gateway.log"))).size;
  return {
    platform,
    target: { port: Number(new URL(baseUrl).port), key },
    nodes,
    probe,
    loop: await LoopMeter.install(probe),
    logBytes,
    async assertUnharmed(tally, logBytesBefore) {
      await assertUnharmed(platform, tally);
      const failures = [...tally.bait].reduce((sum, [code, n]) => (code === "200" ? sum : sum + n), 0);
      const grown = (await logBytes()) - logBytesBefore;
      const max = LOG_BYTES_MAX + failures * LOG_BYTES_PER_FAILURE;
      assert.ok(grown <= max, `the log grew by ${grown} bytes, and ${max} would do`);
    },
    async close() {
      for (const node of nodes) node.leave();
      probe.close();
      const late = setTimeout(() => platform.process.kill("SIGKILL"), STOP_MS_MAX);
      const code = await platform.stop().finally(() => clearTimeout(late));
      await removeDataDir(dataDir);
      assert.equal(code, 0, "the platform stops when it is asked to");
    },
  };
}

async function assertUnharmed(platform: Platform, { counted, findings }: Tally): Promise<void> {
  await eventually("no hold is left", async () => (await platform.query("select id from hold")).length === 0);
  await assertBalanced(platform);
  const { gateway, postgres, nodes } = platform.ready.pids;
  for (const pid of [gateway, postgres, ...nodes]) assert.ok(isAlive(pid), `process ${pid} lives on`);
  const rows = await platform.query<{ id: string; prompt_tokens: number; completion_tokens: number; charge: string }>(
    `select id, prompt_tokens, completion_tokens,
            -- An answer without one token that no other node confirmed is free.
            case when completion_tokens = 0 and charge_pico = 0 then 0
                 else charge_pico - prompt_tokens * price_in_pico - completion_tokens * price_out_pico end as charge
       from request r join price p on p.version = r.price_version and p.model = r.model`,
  );
  const records = new Map(rows.map((row) => [row.id, row]));
  for (const [suffix, usage] of counted) {
    const record = records.get(parseId("req", `req_${suffix}`) ?? "");
    assert.ok(record !== undefined, `the answer ${suffix} is on record`);
    const { prompt_tokens, completion_tokens, charge } = record;
    assert.deepEqual(
      { prompt_tokens, completion_tokens, charge: Number(charge) },
      { prompt_tokens: usage.prompt_tokens, completion_tokens: usage.completion_tokens, charge: 0 },
      `the answer ${suffix} was charged as what it said`,
    );
  }
  assert.deepEqual(findings, []);
}
