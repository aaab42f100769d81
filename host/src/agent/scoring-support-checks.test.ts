import assert from "node:assert/strict";
import { test } from "node:test";
import { scriptedEngine } from "../engines/scripted-engine.ts";
import { AgentHarness } from "../testing/agent-harness.ts";
import { ManualClock } from "../testing/manual-clock.ts";

const messages = [{ role: "user", content: '#script {"text": "the quick brown fox"}' }];

test("a node announces which models can score answers, and replies to a scoring job with log-probabilities only", async () => {
  const agent = new AgentHarness({ models: ["tiny-3b", "embed-m3"] });
  await agent.online();
  await agent.plane.until(() => agent.states().at(-1)?.scores !== undefined);
  assert.deepEqual(agent.states().at(-1)?.scores, { "tiny-3b": "text" });
  const job = agent.offer({ messages, score: { answer: "the quick stolen fox" } });
  assert.equal((await agent.plane.ending(job)).kind, "done");
  assert.deepEqual(agent.kinds(job), ["accepted", "scored", "done"]);
  const scored = agent.plane.heard.find(({ frame }) => frame?.kind === "scored")?.frame;
  assert.deepEqual(scored?.kind === "scored" ? [scored.seq, scored.logprobs] : [], [0, [-0.2, -0.3, -9, -0.5]]);
  assert.doesNotMatch(agent.logged, /stolen/);
  await agent.agent.stop();
});

test("a node announces no scoring and refuses scoring jobs if its engine cannot score answers", async () => {
  const { scoring: _unable, ...engine } = scriptedEngine({ models: ["tiny-3b"], slots: 2, clock: new ManualClock() });
  const agent = new AgentHarness({ models: ["tiny-3b"], engine });
  await agent.online();
  assert.deepEqual(agent.kinds(agent.offer({ messages, score: { answer: "x" } })), ["busy"]);
  assert.equal(agent.states().at(-1)?.scores, undefined);
  await agent.agent.stop();
});
