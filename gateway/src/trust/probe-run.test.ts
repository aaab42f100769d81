/** Tests canaries in the forms of requests, and the check of reading speed. */
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import type { UnpaidJobResult } from "../inference/unpaid-job.ts";
import { openCanaryRecords } from "./canary-records.ts";
import type { QuarantineVerdict } from "./reliability.ts";
import { book, ProbesRig, rightAnswer } from "./testing-probes.ts";

describe("probes", () => {
  let rig: ProbesRig;
  beforeEach(() => {
    rig = new ProbesRig();
  });

  describe("in the form of a completion", () => {
    test("count as evidence only once enough answers of other hosts' nodes show how often honest nodes pass", async () => {
      rig.shape = { ...rig.shape, endpoint: "completion", outputTokensMax: 100 };
      const open = () =>
        openCanaryRecords({ peers: undefined, hostOf: (id) => `host of ${id}`, judged: () => assert.fail() });
      const records = open();
      const question = { model: "m", family: "note, completed", prior: 0.75 };
      for (let i = 0; i < 19; i++) records.note("b", { ...question, passed: true, rate: null, sampled: true });
      assert.equal(records.rateOf("a", question).isKnown, false);
      records.note("c", { ...question, passed: true, rate: null, sampled: true });
      const { rate, isKnown } = records.rateOf("a", question);
      assert.ok(isKnown && rate > 0.8 && rate < 0.9, `${rate}`);
      rig.answer = async () => ({ text: "no idea" });
      await rig.join();
      await rig.pass(12 * 3_600_000);
      assert.ok(rig.jobs.some((job) => job.endpoint === "completion"));
      assert.deepEqual(rig.suspected, [], "no honest node was seen to pass a completion");
    });
  });

  describe("with an output format", () => {
    const asked = async (format: "json_object" | "json_schema"): Promise<Set<string | undefined>> => {
      rig.shape = { ...rig.shape, endpoint: "chat", outputTokensMax: 100, format };
      rig.answer = async (job) => ({ text: rightAnswer(job) ?? "some words about it" });
      await rig.join();
      await rig.pass(24 * 3_600_000);
      return new Set(rig.jobs.map((job) => job.format?.type));
    };
    test("are sent to a node that enforces it", async () => {
      rig.node.formats = new Set(["m"]);
      assert.ok((await asked("json_object")).has("json_object"));
      assert.deepEqual(rig.suspected, []);
    });
    test("are not sent before the node has passed a canary, nor while there is evidence against it", async () => {
      rig.node.formats = new Set(["m"]);
      rig.shape = { ...rig.shape, endpoint: "chat", outputTokensMax: 100, format: "json_object" };
      rig.answer = async () => ({ text: '{"answer": "no idea"}' });
      await rig.join();
      await rig.pass(24 * 3_600_000);
      assert.deepEqual(new Set(rig.jobs.map((job) => job.format)), new Set([undefined]));
      assert.ok(rig.suspected.length > 0);
    });
    test("are not sent to a node that enforces none", async () => {
      assert.deepEqual(await asked("json_object"), new Set([undefined]));
    });
    test("are sent with a schema only to a node that enforces all of its keywords", async () => {
      rig.node.formats = new Set(["m"]);
      rig.node.keywords = new Set(["type", "properties", "required"]);
      assert.deepEqual(await asked("json_schema"), new Set([undefined]));
      rig.node.keywords = new Set([...rig.node.keywords, "additionalProperties"]);
      await rig.pass(24 * 3_600_000);
      assert.ok(rig.jobs.some((job) => job.format?.type === "json_schema"));
    });
  });

  describe("the check of the speed at which a node reads a prompt", () => {
    const asked = async (result: Partial<UnpaidJobResult>): Promise<QuarantineVerdict[]> => {
      rig.start();
      const sampling = { temperature: 0 };
      rig.shape = {
        ...{ endpoint: "chat", promptTokens: 2000, outputTokensMax: 100, sampling, stream: true, texts: 0 },
        ...{ stops: 0, format: null },
      };
      rig.answer = async (job) => ({ text: rightAnswer(job) ?? "prose", ...result });
      await rig.join();
      return rig.suspected;
    };

    test("suspects a node that is faster than its model can be, with the measurements as evidence", async () => {
      const [first] = await asked({ promptTokens: 2256, ttftMs: 1.5 });
      assert.deepEqual(first, {
        reason: "speed",
        evidence: {
          model: "m",
          prompt_tokens: 2000,
          first_token_ms: 1.5,
          prompt_tokens_per_second: 1_333_333,
          ceiling: 1_000_000,
        },
      });
    });

    test("suspects no node because of a plausible speed, a short prompt or a failed attempt", async () => {
      assert.deepEqual(await asked({ promptTokens: 2256, ttftMs: 2.1 }), []);
      assert.deepEqual(await asked({ promptTokens: 1000, ttftMs: 0 }), []);
      assert.deepEqual(await asked({ promptTokens: 2256, ttftMs: null }), []);
      assert.deepEqual(await asked({ promptTokens: 2256, ttftMs: 1, end: "failed" }), []);
    });

    test("suspects no node that may have the prompt in its cache", async () => {
      // Many nodes get the same published canaries and small talk, so a node may have them in its cache and answer at
      // once.
      rig.start();
      rig.answer = async (job) => ({
        text: rightAnswer(job) ?? "prose",
        ...{ promptTokens: 3000, ttftMs: book.answerTo(job.messages) === undefined ? 0 : 500 },
      });
      await rig.join();
      await rig.pass(24 * 3_600_000);
      assert.ok(rig.jobs.some((job) => book.answerTo(job.messages) === undefined));
      assert.deepEqual(rig.suspected, []);
    });
  });
});
