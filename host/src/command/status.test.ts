import assert from "node:assert/strict";
import { test } from "node:test";
import { pauseCommand, resumeCommand } from "./pause.ts";
import { formatQuarantineReason, formatQuarantineRemedy } from "./quarantine-texts.ts";
import { statusCommand } from "./status.ts";
import { makeLoggedInHarness } from "./testing/command-harness.ts";
import { answerWithRefusal, STUB_NODE, STUB_NODE_ID, STUB_NODE_STATS } from "./testing/stub-gateway.ts";

test("status shows a node that is serving", async (t) => {
  const { run, terminal } = await makeLoggedInHarness(t);
  assert.equal(await run(statusCommand), 0);
  assert.deepEqual(terminal.lines, [
    `node      ${STUB_NODE_ID} (box)`,
    "state     online",
    "slots     1 of 4 busy",
    "models    tiny-3b  first token 210 ms  45.2 tokens/s",
    "today     12 requests, 1,234 + 5,678 tokens, earned $0.00012345",
    "failures  1 in the last 12 jobs (5 in 20 quarantine a node)",
    "last day  11 good answers, 1 failure, 0 silences, 3 refusals, 2 late acceptances",
  ]);
});

test("status explains each of the gateway's quarantine reasons, with the next step", () => {
  for (const reason of ["failures", "speed", "canary", "refused_prompts", "spot_check"]) {
    assert.notEqual(formatQuarantineReason({ reason }), reason);
    assert.ok(!formatQuarantineRemedy({ reason }).startsWith("fix the cause"), reason);
  }
});

test("status shows a quarantine's reason, evidence and next step, and escapes control sequences", async (t) => {
  const { run, terminal, gateway } = await makeLoggedInHarness(t);
  gateway.answers[`GET /nodes/${STUB_NODE_ID}/stats`] = {
    ...STUB_NODE_STATS,
    state: "quarantined",
    connected: false,
    models: [],
    quarantine: { reason: "5 failures\u001b[2J in 20 jobs", at: 1_794_725_422, evidence: { jobs: ["a", "b"] } },
  };
  assert.equal(await run(statusCommand, "--node", STUB_NODE_ID), 0);
  assert.deepEqual(terminal.lines.slice(1, 4), [
    "state     quarantined",
    "slots     not connected",
    "models    none elected",
  ]);
  assert.deepEqual(terminal.lines.slice(-3), [
    "quarantined since 2026-11-15 06:50:22 UTC: 5 failures [2J in 20 jobs",
    'evidence: {"jobs":["a","b"]}',
    "next: fix the cause; then ask an operator of the platform to release the node",
  ]);
});

test("status shows a quarantine caused by failed jobs, with its evidence and the next step", async (t) => {
  const { run, terminal, gateway } = await makeLoggedInHarness(t);
  const quarantine = {
    reason: "failures",
    at: 1_794_725_422,
    evidence: { jobs: 11, failures: 5, kinds: { engine: 5 } },
  };
  gateway.answers[`GET /nodes/${STUB_NODE_ID}/stats`] = { ...STUB_NODE_STATS, state: "quarantined", quarantine };
  await run(statusCommand);
  assert.deepEqual(terminal.lines.slice(-3), [
    "quarantined since 2026-11-15 06:50:22 UTC: too many of the node's last jobs failed",
    'evidence: {"jobs":11,"failures":5,"kinds":{"engine":5}}',
    "next: look at the engine's log, and run tollgate-host doctor; then ask an operator of the platform to release the node",
  ]);
});

test("status shows that a node takes fewer requests at once than its engine allows, with the reason", async (t) => {
  const { run, terminal, gateway } = await makeLoggedInHarness(t);
  gateway.answers[`GET /nodes/${STUB_NODE_ID}/stats`] = { ...STUB_NODE_STATS, slots: 3, engine_slots: 4 };
  assert.equal(await run(statusCommand), 0);
  const slots = "slots     1 of 3 busy, fewer than the engine's 4: its pauses between tokens were too long";
  assert.ok(terminal.lines.includes(slots), terminal.lines.join("\n"));
});

test("status shows the progress of a new node's probation", async (t) => {
  const { run, terminal, gateway } = await makeLoggedInHarness(t);
  gateway.answers[`GET /nodes/${STUB_NODE_ID}/stats`] = {
    ...STUB_NODE_STATS,
    slots: 1,
    probation: { answers: 7, needed: 20 },
  };
  assert.equal(await run(statusCommand), 0);
  assert.equal(terminal.lines.at(-1), "probation  7 of 20 good answers; until then one request at a time");
});

test("status and status --all show that a node gets no requests because of another node's quarantine", async (t) => {
  const { run, terminal, gateway } = await makeLoggedInHarness(t);
  const withheld = "host_quarantine";
  gateway.answers[`GET /nodes/${STUB_NODE_ID}/stats`] = {
    ...STUB_NODE_STATS,
    state: "ready",
    connected: false,
    withheld,
  };
  assert.equal(await run(statusCommand), 0);
  assert.deepEqual(terminal.lines.slice(-2), [
    "no requests: this node was registered while another of your nodes was in quarantine",
    "next: tollgate-host status --all shows which node is quarantined; when an operator releases that node, or clears this one, this node gets requests",
  ]);
  gateway.answers["GET /nodes"] = { data: [{ ...STUB_NODE, withheld }] };
  await run(statusCommand, "--all");
  assert.match(terminal.lines.at(-1) ?? "", /ready {2}tiny-3b {2}\(no requests\) {2}\(this machine\)$/);
});

test("status --json returns the gateway's answer with the node's name", async (t) => {
  const { run, terminal } = await makeLoggedInHarness(t);
  assert.equal(await run(statusCommand, "--json"), 0);
  assert.deepEqual(terminal.json(), { ...STUB_NODE_STATS, name: "box" });
});

test("status --all lists every node and marks the node of this machine", async (t) => {
  const { run, terminal, gateway, fails } = await makeLoggedInHarness(t);
  gateway.answers["GET /nodes"] = { data: [STUB_NODE, { ...STUB_NODE, id: "node_2", name: "other", models: [] }] };
  assert.equal(await run(statusCommand, "--all"), 0);
  assert.deepEqual(terminal.lines, [
    `${STUB_NODE_ID}  box    ready  tiny-3b  (this machine)`,
    `node_2${" ".repeat(STUB_NODE_ID.length - 6)}  other  ready  nothing elected`,
  ]);
  assert.equal((await fails(statusCommand, "--all", "--node", STUB_NODE_ID)).exitCode, 2);
});

test("pause and resume change the node's state", async (t) => {
  const { run, terminal, gateway, fails } = await makeLoggedInHarness(t);
  assert.equal(await run(pauseCommand), 0);
  assert.equal(await run(resumeCommand, "--json"), 0);
  assert.match(terminal.text, /^node_\w+ \(box\) is paused\nrequests in flight finish/);
  assert.deepEqual(JSON.parse(terminal.lines[2] ?? ""), { node: STUB_NODE_ID, name: "box", state: "ready" });
  gateway.answers[`POST /nodes/${STUB_NODE_ID}/resume`] = answerWithRefusal(
    409,
    "node_quarantined",
    "The node is quarantined.",
  );
  assert.deepEqual(await fails(resumeCommand), {
    message: "The node is quarantined (node_quarantined)",
    next: "tollgate-host status shows why the node is quarantined; an operator of the platform can release it",
    code: "node_quarantined",
    exitCode: 1,
    details: [],
  });
});

test("status explains an unregistered machine, another account's node and an invalid ID", async (t) => {
  const { fails, logins, gateway } = await makeLoggedInHarness(t);
  gateway.answers[`GET /nodes/${STUB_NODE_ID}`] = answerWithRefusal(404, "node_not_found", "No such node.");
  assert.match((await fails(statusCommand)).next ?? "", /register/);
  assert.equal((await fails(statusCommand, "--node", "box")).exitCode, 2);
  const { node: _node, ...login } = (await logins.read()) ?? { gateway: "", token: "" };
  await logins.write(login);
  assert.deepEqual((await fails(statusCommand)).message, "this machine is not a node yet");
});
