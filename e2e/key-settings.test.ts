/** Tests how a key's settings change its requests: labels, reasoning in reasoning_content, allowed models. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { makeScriptPrompt, sendUserMessage } from "@tollgate/stage/builder-requests.ts";
import { readText, splitEvents } from "@tollgate/stage/raw-http.ts";
import { type InProcessStage, openStage } from "@tollgate/stage/stage.ts";
import { writeCatalogue } from "@tollgate/stage/write-catalogue.ts";

const IGNORED = "x-tollgate-ignored";
const THINKS = "reason-32b";
const TAGS = { open: "<think>", close: "</think>" };
/** A model whose chat template already contains the opening tag of the reasoning. */
const OPENED = "mid-14b";

interface Whole {
  choices: { message: Record<string, string> }[];
}

interface Chunk {
  choices: { delta: Record<string, string>; finish_reason: string | null }[];
}

describe("settings of an API key", () => {
  let stage: InProcessStage;
  before(async () => {
    stage = await openStage({
      as: "in-process",
      clock: "running",
      nodes: [{ models: ["tiny-3b", THINKS, OPENED] }],
      env: async (folder) => ({
        CATALOGUE_FILE: await writeCatalogue(folder, {
          [OPENED]: { build: { id: "opened", tokenizer: "qwen2.5", reasoning: { ...TAGS, template_opens: true } } },
        }),
      }),
    });
  });
  after(() => stage?.close());

  const chunksOf = async (response: Response): Promise<Chunk["choices"][number][]> =>
    splitEvents(await response.text())
      .filter((data) => data !== "[DONE]")
      .flatMap((data) => (JSON.parse(data) as Chunk).choices);

  describe("request labels", () => {
    const labelled = { model: "tiny-3b", prompt: makeScriptPrompt({ text: "x" }), user: "me@example.com" };
    const labelOf = async (response: Response): Promise<unknown> => {
      assert.equal(response.status, 200);
      const record = (await stage.record(response)) as unknown as { label: string | null };
      return record.label;
    };

    test("the fields user and metadata.label are listed as ignored unless request labels are turned on for the key", async () => {
      const { key } = await stage.builder();
      const response = await sendUserMessage(stage, key, { ...labelled, metadata: { label: "nightly" } });
      assert.equal(response.headers.get(IGNORED), "user, metadata");
      assert.equal(await labelOf(response), null);
    });

    test("the field that is stored as the request label is not listed as ignored if labels are turned on", async () => {
      const { key } = await stage.builder(undefined, { labels: true });
      const byUser = await sendUserMessage(stage, key, { ...labelled, metadata: { other: "x" } });
      assert.equal(byUser.headers.get(IGNORED), "metadata");
      assert.equal(await labelOf(byUser), "me@example.com");
      const byLabel = await sendUserMessage(stage, key, { ...labelled, metadata: { label: "nightly" } });
      assert.equal(byLabel.headers.get(IGNORED), "user");
      assert.equal(await labelOf(byLabel), "nightly");
    });
  });

  test("a key limited to some models lists all models, with vendor.allowed false on those that it may not use", async () => {
    const { key } = await stage.builder(undefined, { models: ["tiny-3b"] });
    const get = async (path: string) => {
      const response = await fetch(`${stage.baseUrl}${path}`, { headers: { authorization: `Bearer ${key}` } });
      assert.equal(response.status, 200);
      return await response.json();
    };
    const { data } = (await get("/v1/models")) as { data: { id: string; vendor: { allowed?: boolean } }[] };
    assert.equal(data.length, 8);
    for (const { id, vendor } of data) assert.equal(vendor.allowed, id === "tiny-3b" ? undefined : false, id);
    const one = (await get(`/v1/models/${THINKS}`)) as { vendor: { allowed?: boolean } };
    assert.equal(one.vendor.allowed, false);
    const refused = await sendUserMessage(stage, key, { model: THINKS, prompt: makeScriptPrompt({ text: "x" }) });
    assert.deepEqual(
      [refused.status, ((await refused.json()) as { error: { code: string } }).error.code],
      [404, "model_not_found"],
    );
  });

  describe("the key setting reasoning_content", () => {
    const prompt = makeScriptPrompt({ reasoning: "I think so.", text: "It is so." });

    test("a key without the setting gets no reasoning_content, whether its requests are streamed or not", async () => {
      const { key } = await stage.builder();
      const whole = await (await sendUserMessage(stage, key, { model: THINKS, prompt })).text();
      const streamed = await (await sendUserMessage(stage, key, { model: THINKS, prompt, stream: true })).text();
      for (const text of [whole, streamed]) {
        assert.ok(text.includes('"vendor_reasoning_content":"I think so."'));
        assert.ok(!text.includes('"reasoning_content"'));
      }
    });

    test("the field reasoning_content contains the reasoning, streamed before the answer and in addition to vendor_reasoning_content", async () => {
      const { key } = await stage.builder(undefined, { reasoningContent: true });
      const whole = (await (await sendUserMessage(stage, key, { model: THINKS, prompt })).json()) as Whole;
      const { role: _, ...message } = whole.choices[0]?.message ?? {};
      assert.deepEqual(message, {
        content: "It is so.",
        vendor_reasoning_content: "I think so.",
        reasoning_content: "I think so.",
      });

      const chunks = await chunksOf(await sendUserMessage(stage, key, { model: THINKS, prompt, stream: true }));
      const thoughts = chunks.filter(({ delta }) => "reasoning_content" in delta);
      assert.equal(thoughts.map(({ delta }) => delta.reasoning_content).join(""), "I think so.");
      assert.ok(thoughts.every(({ delta }) => Object.keys(delta).length === 1));
      const answer = chunks.filter(({ delta }) => (delta.content ?? "") !== "");
      assert.equal(answer.map(({ delta }) => delta.content).join(""), "It is so.");
      assert.ok(
        chunks.indexOf(thoughts.at(-1) as (typeof chunks)[0]) < chunks.indexOf(answer[0] as (typeof chunks)[0]),
      );
      assert.deepEqual(chunks.at(-1)?.delta, { vendor_reasoning_content: "I think so." });
    });

    test("reasoning that has reached the client is billed if the node then fails", async () => {
      const orders = makeScriptPrompt({ reasoning: "one two three four", text: "x", garbage_after: 2 });
      const { key } = await stage.builder(undefined, { reasoningContent: true });
      const response = await sendUserMessage(stage, key, { model: THINKS, prompt: orders, stream: true });
      assert.match(await readText(response), /"code":"upstream_failed"/);
      const record = await stage.record(response);
      assert.deepEqual([record?.outcome, record?.attempts], ["upstream_failed", 1]);
      assert.ok(Number(record?.reasoning_tokens) > 0, "thinking was delivered");
    });

    test("answers of a model without reasoning have no reasoning_content", async () => {
      const { key } = await stage.builder(undefined, { reasoningContent: true });
      const text = await (
        await sendUserMessage(stage, key, { model: "tiny-3b", prompt: makeScriptPrompt({ text: "x" }) })
      ).text();
      assert.ok(!text.includes("reasoning_content"));
    });
  });

  test("if the chat template opens the reasoning, output up to </think> is reasoning, and stop strings do not end it", async () => {
    const { key } = await stage.builder();
    const prompt = makeScriptPrompt({ text: "I think END of it.</think>It is END so." });
    const whole = (await (await sendUserMessage(stage, key, { model: OPENED, prompt, stop: ["END"] })).json()) as Whole;
    assert.deepEqual(whole.choices, [
      {
        index: 0,
        message: { role: "assistant", content: "It is ", vendor_reasoning_content: "I think END of it." },
        finish_reason: "stop",
      },
    ]);
    const chunks = await chunksOf(
      await sendUserMessage(stage, key, { model: OPENED, prompt, stop: ["END"], stream: true }),
    );
    assert.equal(chunks.map(({ delta }) => delta.content ?? "").join(""), "It is ");
  });
});
