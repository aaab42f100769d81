import assert from "node:assert/strict";
import { test } from "node:test";
import { makeLoggedInHarness } from "./testing/command-harness.ts";
import { answerWithRefusal, STUB_NODE, STUB_NODE_ID } from "./testing/stub-gateway.ts";
import { tryNodeCommand } from "./try-node.ts";

const TRIAL = {
  object: "node_try",
  model: "tiny-3b",
  text: "Once upon\na time\u001b[31m.",
  finish_reason: "stop",
  prompt_tokens: 9,
  completion_tokens: 12,
  ttft_ms: 84.2,
  tps: 51.3,
};

test("tollgate-host try prints the speed, and the answer without control sequences", async (t) => {
  const { run, terminal, gateway } = await makeLoggedInHarness(t);
  gateway.answers[`POST /nodes/${STUB_NODE_ID}/try`] = TRIAL;
  assert.equal(await run(tryNodeCommand), 0);
  assert.deepEqual(gateway.bodies, [{ model: "tiny-3b" }]);
  assert.equal(
    terminal.text,
    "Once upon\na time[31m.\n\ntiny-3b: first token 84 ms, 51.3 tokens/s, 9 + 12 tokens, ended by stop",
  );
});

test("tollgate-host try sends its options to the gateway, and prints the number of vectors for an embedding model", async (t) => {
  const { run, terminal, gateway } = await makeLoggedInHarness(t);
  gateway.answers[`POST /nodes/${STUB_NODE_ID}/try`] = {
    ...{ model: "embed-m3", text: "", vectors: { count: 1, width: 1024 }, finish_reason: null },
    ...{ prompt_tokens: 5, completion_tokens: 0, ttft_ms: 20, tps: null },
  };
  await run(tryNodeCommand, "--model", "embed-m3", "--prompt", "hello", "--max-tokens", "7");
  assert.deepEqual(gateway.bodies, [{ model: "embed-m3", prompt: "hello", max_tokens: 7 }]);
  assert.equal(terminal.text, "1 vector of 1024 numbers\n\nembed-m3: first token 20 ms, 5 + 0 tokens");
});

test("tollgate-host try prints a reasoning model's thinking before its answer", async (t) => {
  const { run, terminal, gateway } = await makeLoggedInHarness(t);
  gateway.answers[`POST /nodes/${STUB_NODE_ID}/try`] = {
    ...TRIAL,
    text: "42",
    vendor_reasoning_content: "Six times seven.",
  };
  await run(tryNodeCommand, "--model", "reason-32b");
  assert.deepEqual(terminal.lines.slice(0, 3), ["Six times seven.", "", "42"]);
});

test("tollgate-host try explains why a node that is disconnected, stalls or has no models gives no answer", async (t) => {
  const { fails, gateway } = await makeLoggedInHarness(t);
  const path = `POST /nodes/${STUB_NODE_ID}/try`;
  gateway.answers[path] = answerWithRefusal(409, "node_state_conflict", "The node is not connected.");
  assert.match((await fails(tryNodeCommand)).message, /not connected/);
  gateway.answers[path] = answerWithRefusal(502, "upstream_stall", "The node went quiet.");
  assert.match((await fails(tryNodeCommand)).next ?? "", /doctor/);
  gateway.answers[`GET /nodes/${STUB_NODE_ID}`] = { ...STUB_NODE, models: [] };
  assert.match((await fails(tryNodeCommand)).next ?? "", /elect/);
  assert.match(
    (await fails(tryNodeCommand, "--max-tokens", "x", "--prompt", "")).message,
    /^--max-tokens .*; --prompt must not be empty$/,
  );
});
