/** Commands that show a node's past jobs and earnings, and commands that rename or retire a node. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { earningsCommand } from "./earnings.ts";
import { jobsCommand } from "./jobs.ts";
import { marketCommand } from "./market.ts";
import { renameCommand, retireCommand } from "./rename-and-retire.ts";
import { statusCommand } from "./status.ts";
import { makeLoggedInHarness } from "./testing/command-harness.ts";
import { answerWithRefusal, STUB_NODE, STUB_NODE_ID } from "./testing/stub-gateway.ts";

const TOTAL = {
  ...{ requests: 1204, ok: 1190, closed: 6, failed: 8, failed_share: 0.0067, prompt_tokens: 88_102 },
  ...{ completion_tokens: 41_377, ttft_p50_ms: 181, ttft_p95_ms: 412, tps: 41.52, utilisation: 0.42, connected: 1 },
  earned_micro: "3877.615000",
};
const IDLE = {
  ...{ requests: 0, ok: 0, closed: 0, failed: 0, failed_share: null, prompt_tokens: 0, completion_tokens: 0 },
  ...{ ttft_p50_ms: null, ttft_p95_ms: null, tps: null, utilisation: null, connected: 0, earned_micro: "0.000000" },
};
const INSIGHT = {
  ...{ object: "node_insight", range: "24h", from: 1_794_700_800, to: 1_794_787_200, slot_s: 3600, series: [] },
  total: TOTAL,
  earnings_slot_s: 3600,
  earnings: [
    { at: 1_794_722_400, earned_micro: "3877.600000" },
    { at: 1_794_726_000, earned_micro: "0.000000" },
    { at: 1_794_729_600, earned_micro: "0.015000" },
  ],
};
const HOST_INSIGHT = {
  ...INSIGHT,
  nodes: [
    { node: STUB_NODE_ID, total: TOTAL },
    { node: "node_2", total: IDLE },
  ],
};
const HARDWARE = {
  ...{ os: "linux", cpu: "EPYC\u001b[2J 9354", cores: 32, memory_bytes: 128 * 1024 ** 3 },
  gpus: [{ maker: "nvidia", name: "NVIDIA H200", memory_bytes: 143_771 * 1024 ** 2 }, { name: "Apple M4" }],
};

test("status shows the machine with its GPU memory, and the node's usage", async (t) => {
  const { run, terminal, gateway } = await makeLoggedInHarness(t);
  gateway.answers[`GET /nodes/${STUB_NODE_ID}`] = { ...STUB_NODE, hardware: HARDWARE };
  gateway.answers[`GET /nodes/${STUB_NODE_ID}/insight`] = INSIGHT;
  assert.equal(await run(statusCommand, "--range", "24h"), 0);
  assert.deepEqual(terminal.lines.slice(2, -1), [
    "slots     1 of 4 busy",
    "machine   EPYC [2J 9354, 32 cores, 128 GiB of memory",
    "gpu       NVIDIA H200, 140 GiB",
    "gpu       Apple M4, shares the machine's memory",
    "models    tiny-3b  first token 210 ms  45.2 tokens/s",
    "today     12 requests, 1,234 + 5,678 tokens, earned $0.00012345",
    "in 24h    slots in use 42 %, connected 100 % of the time",
    "          1,204 requests, 8 failed (0.7 %), 88,102 + 41,377 tokens, earned $0.003877615",
    "          first token 181 ms, 412 ms at the 95th percentile, 41.5 tokens/s",
    "failures  1 in the last 12 jobs (5 in 20 quarantine a node)",
  ]);
  gateway.answers[`GET /nodes/${STUB_NODE_ID}`] = { ...STUB_NODE, hardware: { gpus: "many", cores: -1, cpu: 7 } };
  await run(statusCommand, "--json");
  assert.deepEqual(JSON.parse(terminal.lines.slice(13).join("\n")).insight, { range: "24h", total: TOTAL });
});

test("status --all shows the figures of each node and their total", async (t) => {
  const { run, terminal, gateway, fails } = await makeLoggedInHarness(t);
  gateway.answers["GET /nodes"] = { data: [STUB_NODE, { ...STUB_NODE, id: "node_2", name: "other" }] };
  gateway.answers["GET /insight"] = HOST_INSIGHT;
  await run(statusCommand, "--all", "--range", "7d");
  assert.deepEqual(terminal.lines.slice(2), [
    "",
    "in the last 7 days   use  connected  requests  failed  first token  tokens/s        earned",
    "box                 42 %      100 %     1,204   0.7 %       181 ms      41.5  $0.003877615",
    "other                  –        0 %         0       –            –         –  $0.000000000",
    "all                 42 %      100 %     1,204   0.7 %       181 ms      41.5  $0.003877615",
  ]);
  assert.equal(gateway.calls.at(-1), "GET /insight?range=7d");
  assert.deepEqual(
    (await fails(statusCommand, "--range", "2d")).message,
    "--range must be one of 1h, 6h, 24h, 7d, 30d, 90d",
  );
});

test("earnings shows a chart over time and sums by node, but not with an older gateway", async (t) => {
  const { run, terminal, gateway, fails } = await makeLoggedInHarness(t);
  assert.match((await fails(earningsCommand, "--range", "24h")).message, /older than tollgate-host/);
  gateway.answers["GET /nodes"] = { data: [STUB_NODE, { ...STUB_NODE, id: "node_2", name: "other" }] };
  gateway.answers["GET /insight"] = HOST_INSIGHT;
  await run(earningsCommand, "--range", "24h");
  assert.deepEqual(terminal.lines, [
    "hour (UTC)              earned",
    "2026-11-15 06:00  $0.003877600",
    "2026-11-15 08:00  $0.000000015",
    "",
    "node         earned",
    "box    $0.003877615",
    "other  $0.000000000",
    "",
    "1,204 requests in the last 24 hours, earned $0.003877615",
  ]);
  assert.equal((await fails(earningsCommand, "--range", "24h", "--csv")).exitCode, 2);
});

test("jobs lists a node's jobs, with the reasons of failures", async (t) => {
  const { run, terminal, gateway } = await makeLoggedInHarness(t);
  const job = {
    ...{ request_id: "req_1", model: "tiny-3b", created_at: 1_794_725_420, finished_at: 1_794_725_422, outcome: "ok" },
    ...{ says: "Completed.", by: null, prompt_tokens: 1200, completion_tokens: 100, queue_ms: 2, ttft_ms: 180 },
    ...{ duration_ms: 1240, tps: 41.5, earned_micro: "9830.400000", own: false },
  };
  const failed = {
    ...{ ...job, request_id: "req_2", outcome: "upstream_failed", says: "The node failed it.", by: "engine" },
    ...{ ttft_ms: null, earned_micro: "0.000000" },
  };
  gateway.answers[`GET /nodes/${STUB_NODE_ID}/jobs`] = { data: [job, failed], next_cursor: "more" };
  assert.equal(await run(jobsCommand, "--model", "tiny-3b"), 0);
  assert.deepEqual(terminal.lines, [
    "finished (UTC)       request  model    prompt  output  first token   took      earned  outcome",
    "2026-11-15 06:50:22  req_1    tiny-3b   1,200     100       180 ms  1.2 s  $0.0098304  ok",
    "2026-11-15 06:50:22  req_2    tiny-3b   1,200     100            –  1.2 s  $0.0000000  upstream_failed: The node failed it.",
    "",
    "there are more jobs; show them with --limit N",
  ]);
  assert.equal(gateway.calls.at(-1), `GET /nodes/${STUB_NODE_ID}/jobs?model=tiny-3b&limit=20`);
});

test("market estimates earnings with this node's own speed if it is known", async (t) => {
  const { run, terminal, gateway } = await makeLoggedInHarness(t);
  const row = {
    ...{ model: "tiny-3b", kind: "generation", price_in_micro_1m: 20_000, price_out_micro_1m: 40_000, nodes: 1 },
    ...{ tokens_per_hour_24h: 120_000, tokens_per_hour_7d: 98_000, waiting: 2, slots: 4, busy: 4, elected: true },
    speed: { of: "node", prompt_tokens_per_s: 61.2, completion_tokens_per_s: 38.4 },
    ...{ slot_hour_micro: "6955.200000", node_hour_micro: "27820.800000", mean_hour_micro: null },
  };
  const others = {
    ...{ ...row, model: "mid-14b", waiting: 0, elected: false, speed: { ...row.speed, of: "model" } },
    mean_hour_micro: "100.000000",
  };
  const never = { ...others, model: "embed-m3", speed: null, slot_hour_micro: null, node_hour_micro: null };
  gateway.answers["GET /market"] = { object: "list", data: [row, others, never], share_percent: 70, slots: 4 };
  assert.equal(await run(marketCommand), 0);
  assert.deepEqual(terminal.lines.slice(0, 4), [
    "  model      used/h  busy            tokens/s in + out         slot/h      node/h   mean/h",
    "* tiny-3b   120,000  4 of 4, 2 wait  61.2 + 38.4           $0.0069552  $0.0278208    –",
    "  mid-14b   120,000  4 of 4          61.2 + 38.4 (others)  $0.0069552  $0.0278208  $0.0001",
    "  embed-m3  120,000  4 of 4          not measured            –           –         $0.0001",
  ]);
  assert.equal(gateway.calls.at(-1), `GET /market?node=${STUB_NODE_ID}`);
});

test("rename stores the new name, and refuses a name that is taken", async (t) => {
  const { run, fails, logins, gateway, terminal } = await makeLoggedInHarness(t);
  gateway.answers[`PATCH /nodes/${STUB_NODE_ID}`] = { ...STUB_NODE, name: "barn" };
  assert.equal(await run(renameCommand, "--name", "barn"), 0);
  assert.deepEqual(gateway.bodies, [{ name: "barn" }]);
  assert.equal((await logins.read())?.node?.name, "barn");
  assert.deepEqual(terminal.lines, [`${STUB_NODE_ID} is now named barn`]);
  assert.equal((await fails(renameCommand)).exitCode, 2);
  gateway.answers[`PATCH /nodes/${STUB_NODE_ID}`] = answerWithRefusal(409, "node_name_taken", "Another node has it.");
  assert.match((await fails(renameCommand, "--name", "shed")).next ?? "", /status --all/);
});

test("retire asks for confirmation first and removes the node from this machine", async (t) => {
  const { run, fails, logins, gateway, terminal } = await makeLoggedInHarness(t);
  gateway.answers[`POST /nodes/${STUB_NODE_ID}/retire`] = { ...STUB_NODE, state: "retired" };
  assert.deepEqual(
    (await fails(retireCommand)).message,
    "--yes is missing: standard input is not a terminal, so the command cannot ask",
  );
  assert.equal(await run(retireCommand, "--yes"), 0);
  assert.match(terminal.lines[0] ?? "", /\(box\) is retired: requests in flight finish/);
  assert.equal((await logins.read())?.node, undefined);
});

test("a command that asks for confirmation changes nothing unless the answer is yes", async (t) => {
  const { run, gateway, terminal } = await makeLoggedInHarness(t, { answers: ["n"] });
  assert.equal(await run(retireCommand), 1);
  assert.ok(!gateway.calls.some((call) => call.includes("retire")));
  assert.deepEqual(terminal.remarks, ["nothing was changed"]);
});
