import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeFrame, FrameError } from "../../../protocol/src/frame-codec.ts";
import { SeededChoices } from "../seeded-choices.ts";
import { FOREIGN_OUTPUT_WORD, makeMessage, type NodeSituation } from "./node-messages.ts";
import { type Answer, judgeHonestNodeAnswer, judgeHostileNodeAnswer } from "./plane-fuzz-requests.ts";

const OWN = "06dfk3zq9v8n2x4m7t1c5w0rbe";

const situation = (): NodeSituation => ({
  node: "node_a",
  gateway: "gw",
  jobs: [{ job: `${OWN}-01`, gateway: "gw", embedding: false, accepted: false, seq: 0 }],
  foreign: [{ job: "16dfk3zq9v8n2x4m7t1c5w0rbe-01", gateway: "gw", embedding: false, accepted: true, seq: 2 }],
  models: ["small-8b"],
});

test("a frame depends only on its seed, its index and the node's state, not on frames generated before", () => {
  const made = (seed: number, index: number): string => {
    const { kind, subject, payload } = makeMessage(new SeededChoices(seed, index), situation(), "any");
    return `${kind} ${subject} ${Buffer.from(payload).toString("hex")}`;
  };
  const alone = made(7, 400);
  for (let index = 390; index < 400; index++) made(7, index);
  assert.equal(made(7, 400), alone);
  const many = Array.from({ length: 300 }, (_, index) => [made(7, index), made(8, index)]).flat();
  assert.ok(new Set(many).size > 250, "other seeds and indexes give other frames");
});

test('the setting "readable" generates only well-formed frames; the setting "any" also generates malformed frames', () => {
  const readable = (frames: "any" | "readable"): number => {
    let count = 0;
    for (let index = 0; index < 2_000; index++) {
      try {
        decodeFrame(makeMessage(new SeededChoices(1, index), situation(), frames).payload);
        count += 1;
      } catch (error) {
        if (!(error instanceof FrameError)) throw error;
      }
    }
    return count;
  };
  assert.equal(readable("readable"), 2_000);
  const count = readable("any");
  assert.ok(count > 800 && count < 1_800, `${count} of 2000`);
});

test("the fuzz checks report another request's output, wrong texts, wrong token counts and wrong errors", () => {
  const usage = { prompt_tokens: 3, completion_tokens: 4 };
  const answer = { status: 200, id: `chatcmpl-${OWN}`, text: `[${OWN}]`, code: undefined, usage };
  assert.equal(judgeHostileNodeAnswer(answer), undefined);
  const bad: Partial<Answer>[] = [
    { text: `x${FOREIGN_OUTPUT_WORD}` },
    { text: "[16dfk3zq9v8n2x4m7t1c5w0rbe]" },
    { status: 500, code: "internal_error" },
    { status: 418 },
  ];
  for (const change of bad)
    assert.notEqual(judgeHostileNodeAnswer({ ...answer, ...change }), undefined, JSON.stringify(change));
  const known = { text: answer.text, body: {}, usage };
  assert.equal(judgeHonestNodeAnswer(known, answer), undefined);
  const worse: Partial<Answer>[] = [
    { text: "" },
    { status: 503 },
    { code: "upstream_stall" },
    { usage: { prompt_tokens: 3, completion_tokens: 5 } },
    { usage: undefined },
  ];
  for (const change of worse) assert.notEqual(judgeHonestNodeAnswer(known, { ...answer, ...change }), undefined);
});
