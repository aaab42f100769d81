/** A platform with hostile nodes on its dispatch plane, and checks that must always hold. */
import assert from "node:assert/strict";
import { RawNode } from "@tollgate/stage/nodes/raw-node.ts";
import type { ProcessStage } from "@tollgate/stage/stage.ts";
import { parseId } from "../../../gateway/src/base/ids.ts";
import { assertLedgerAndProcessesIntact, type FuzzPlatform, openFuzzPlatform } from "../fuzz-platform.ts";
import { INSPECTOR_OPTION, MemoryProbe } from "../gateway-memory.ts";
import type { CampaignCounts } from "./plane-fuzz-campaign.ts";
import { HONEST_NODES_MODEL, HOSTILE_NODES_MODEL } from "./plane-fuzz-requests.ts";

const SLOTS = 64;
const HOSTILE_NODES = 4;
/** The log size that a run may reach without failed requests. Each failed request may add a line. */
const LOG_BYTES_MAX = 256 * 1024;
const LOG_BYTES_PER_FAILURE = 1024;

export interface PlaneFuzzPlatform extends FuzzPlatform {
  nodes: RawNode[];
  probe: MemoryProbe;
  logBytes(): Promise<number>;
  /** Checks ledger, charges, processes and log, and throws on the first violation. */
  assertUnharmed(tally: CampaignCounts, logBytesBefore: number): Promise<void>;
}

/** `load`: URLs of modules that the gateway loads before its own code. */
export async function openPlaneFuzzPlatform({ load = [] }: { load?: string[] } = {}): Promise<PlaneFuzzPlatform> {
  const loaded = [new URL("./lift-malformed-frame-limits.ts", import.meta.url).href, ...load].map(
    (url) => `--import ${url}`,
  );
  const honest = { models: [HONEST_NODES_MODEL], slots: SLOTS };
  const fuzzed = await openFuzzPlatform([honest, honest], { NODE_OPTIONS: [INSPECTOR_OPTION, ...loaded].join(" ") });
  const { stage } = fuzzed;
  const host = await stage.host();
  const names = Array.from({ length: HOSTILE_NODES }, (_, i) => `hostile-${i}`);
  const nodes = await Promise.all(
    names.map((name) => RawNode.join(stage, host, { name, models: [HOSTILE_NODES_MODEL] })),
  );
  const probe = await MemoryProbe.open(await stage.gateway.log());
  const logBytes = (): Promise<number> => stage.logBytes();
  return {
    ...fuzzed,
    nodes,
    probe,
    logBytes,
    async assertUnharmed(tally, logBytesBefore) {
      await assertCharged(stage, tally);
      const failures = [...tally.bait].reduce((sum, [code, n]) => (code === "200" ? sum : sum + n), 0);
      const grown = (await logBytes()) - logBytesBefore;
      const max = LOG_BYTES_MAX + failures * LOG_BYTES_PER_FAILURE;
      assert.ok(grown <= max, `the log grew by ${grown} bytes, and ${max} would do`);
    },
    async close() {
      for (const node of nodes) node.leave();
      probe.close();
      await fuzzed.close();
    },
  };
}

/** Checks that every answer was charged with the token counts that the client got. */
async function assertCharged(stage: ProcessStage, { counted, findings }: CampaignCounts): Promise<void> {
  await assertLedgerAndProcessesIntact(stage);
  const rows = await stage.query<{ id: string; prompt_tokens: number; completion_tokens: number; charge: string }>(
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
