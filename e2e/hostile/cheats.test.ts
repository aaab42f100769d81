/**
 * Nodes that want to be paid for nothing, and builders that want honest nodes barred, on a platform that quarantines by itself.
 * Every test has hosts of its own; where a rule is about the requests of one model, no other test uses that model meanwhile.
 */

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { writeCatalogue } from "@tollgate/stage/catalogue.ts";
import { isAlive } from "@tollgate/stage/dev.ts";
import { assertBalanced } from "@tollgate/stage/ledger-check.ts";
import {
  BREAKS,
  constantAnswer,
  deafToStops,
  doNothing,
  emptyDeltas,
  HONEST_ANSWER,
  honest,
  MARK,
  onMarked,
  refusesPrompt,
  WRONG_VECTORS,
} from "@tollgate/stage/nodes/behaviours.ts";
import { type Behaviour, HandMadeNode, nodeApi } from "@tollgate/stage/nodes/hand-made.ts";
import { ask, codeIn, type Generation, said } from "@tollgate/stage/requests.ts";
import { type Builder, openStage, type ProcessStage } from "@tollgate/stage/stage.ts";
import { eventually, hangSignal } from "@tollgate/stage/wait.ts";

/** More than the 20 jobs that are looked at. */
const MANY = 25;
const CONTEXT = 8192;

describe("cheats", () => {
  let stage: ProcessStage;
  let builder: Builder;
  let constant: HandMadeNode;
  before(async () => {
    const env = async (dataDir: string): Promise<Record<string, string>> => {
      // Only one model is asked canaries, so that they decide nothing elsewhere.
      const none = { canaries: [] };
      const models = ["tiny-3b", "small-8b", "small-7b-alt", "reason-32b", "embed-m3"];
      const file = await writeCatalogue(dataDir, Object.fromEntries(models.map((model) => [model, none])));
      return { AUTO_QUARANTINE: "true", CATALOGUE_FILE: file, DISPATCH_DEADLINE_MS: "120000" };
    };
    stage = await openStage({ as: "processes", env });
    builder = await stage.builder();
    const traits = { name: "constant", models: ["mid-14b"], behaviour: constantAnswer };
    constant = await HandMadeNode.join(stage, await stage.host(), traits);
  });
  after(async () => {
    await constant?.leave();
    await stage?.close();
  });
  afterEach(async () => {
    // Also after a test that failed: the next one must find no node but its own.
    await depart();
    assert.ok(isAlive(stage.pid), "the gateway lives");
    await stage.noHolds();
    await assertBalanced(stage);
  });

  /** The nodes of the test that runs. */
  const present: HandMadeNode[] = [];
  const join = async (model: string, behaviour: Behaviour): Promise<HandMadeNode> => {
    const node = await HandMadeNode.join(stage, await stage.host(), { name: "stranger", models: [model], behaviour });
    present.push(node);
    return node;
  };
  const depart = async (): Promise<void> => {
    for (const node of present.splice(0)) {
      await node.leave();
      await eventually("it is gone", async () => !(await node.is("online")));
    }
  };
  const asked = async (order: Generation, signal?: AbortSignal) => {
    const response = await ask(stage, builder.key, order, signal);
    const text = await response.clone().text();
    return { response, text, record: await stage.record(response), status: response.status };
  };
  const assertTrusted = async (...nodes: HandMadeNode[]): Promise<void> => {
    for (const node of nodes) assert.equal(await node.state(), "online");
  };
  const marked = (model: string, more: object = {}): Generation => ({
    model,
    prompt: `${MARK} say something`,
    ...more,
  });

  test("a node that says it is done without a word, alone: an empty answer that costs nothing and pays nothing", async () => {
    const node = await join("small-8b", onMarked(doNothing));
    for (let i = 0; i < MANY; i++) {
      const { status, response, record } = await asked(marked("small-8b", { stream: i % 2 === 0 }));
      assert.deepEqual([status, await said(response)], [200, ""]);
      assert.deepEqual([record?.outcome, record?.charge_pico, record?.host_pico], ["ok", "0", "0"]);
    }
    assert.equal(await node.earned(), 0n);
    // Nobody knows better: an empty answer alone is no fault.
    await assertTrusted(node);
  });

  test("the same beside an honest node: every answer is the honest one, and the idler is found out unpaid", async () => {
    const idler = await join("small-8b", doNothing);
    const worker = await join(
      "small-8b",
      honest(() => HONEST_ANSWER, { delayMs: 20 }),
    );
    await eventually("the idler is in quarantine", async () => {
      // Several at once, so that the faster node does not get them all.
      const orders = [false, true, false, true, false, true].map((stream) => marked("small-8b", { stream }));
      for (const { status, response, record } of await Promise.all(orders.map((order) => asked(order)))) {
        assert.deepEqual([status, await said(response)], [200, HONEST_ANSWER]);
        assert.equal(record?.host_account_id, worker.host.account);
      }
      return await idler.is("quarantined");
    });
    assert.equal(await idler.earned(), 0n);
    assert.ok((await worker.earned()) > 0n);
    await assertTrusted(worker);
  });

  test("a host with a node in quarantine gets no work on nodes that it registers afterwards, until that one is released", async () => {
    const { host, id } = await join("small-8b", honest());
    await stage.admin("node", "quarantine", id, "--reason", "seen cheating");
    const traits = { name: "another", models: ["small-8b"], behaviour: honest(), waits: false };
    const next = await HandMadeNode.join(stage, host, traits);
    present.push(next);
    for (let i = 0; i < 5; i++) {
      const { status, text } = await asked(marked("small-8b"));
      assert.deepEqual([status, codeIn(text)], [503, "no_capacity"]);
      next.report();
    }
    assert.deepEqual(
      next.prompts.filter((prompt) => prompt.includes(MARK)),
      [],
    );
    await stage.admin("node", "release", id);
    await eventually("it works", async () => {
      next.report();
      return (await asked(marked("small-8b"))).status === 200;
    });
  });

  test("a new node has one request at a time until it gave 20 honest answers", async () => {
    let [running, most] = [0, 0];
    const node = await join("reason-32b", async (job) => {
      const counts = job.prompt.includes(MARK);
      if (counts) most = Math.max(most, ++running);
      await honest(undefined, { delayMs: 30 })(job);
      if (counts) running -= 1;
    });
    const together = async (count: number): Promise<void> => {
      const order = marked("reason-32b", { max_tokens: 50 });
      for (const { status } of await Promise.all(Array.from({ length: count }, () => asked(order)))) {
        assert.equal(status, 200);
      }
    };
    // No more at once than the model's ceiling lets in.
    for (let i = 0; i < 3; i++) await together(6);
    assert.equal(most, 1);
    await eventually("it is trusted with more", async () => {
      await together(6);
      return most > 1;
    });
    await assertTrusted(node);
  });

  for (const stream of [false, true]) {
    test(`deltas without text are no sign of life: a stall that costs nothing, ${stream ? "streamed" : "whole"}`, async () => {
      await join("small-8b", onMarked(emptyDeltas));
      // The node goes on for as long as it is let: only the gateway ends this.
      const { text, record } = await asked(marked("small-8b", { stream }), hangSignal());
      assert.equal(codeIn(text), "upstream_stall");
      assert.deepEqual([record?.outcome, record?.charge_pico, record?.host_pico], ["upstream_stall", "0", "0"]);
    });
  }

  test("a node that breaks the protocol is not paid; whole, the request is free, streamed it costs what arrived", async () => {
    for (const [what, behaviour] of Object.entries(BREAKS)) {
      const node = await join("small-7b-alt", onMarked(behaviour));
      const whole = await asked(marked("small-7b-alt"));
      assert.deepEqual([whole.status, codeIn(whole.text)], [502, "upstream_failed"], what);
      assert.deepEqual([whole.record?.outcome, whole.record?.charge_pico], ["upstream_failed", "0"], what);
      const streamed = await asked(marked("small-7b-alt", { stream: true }));
      assert.deepEqual([codeIn(streamed.text), await said(streamed.response)], ["upstream_failed", "some words"], what);
      assert.equal(streamed.record?.completion_tokens, 2, what);
      assert.ok(BigInt(streamed.record?.charge_pico ?? 0) > 0n, what);
      assert.equal(await node.earned(), 0n, what);
      await depart();
    }
  });

  test("vectors that nobody asked for are not paid", async () => {
    for (const [what, behaviour] of Object.entries(WRONG_VECTORS)) {
      const node = await join("embed-m3", onMarked(behaviour));
      const response = await fetch(`${stage.baseUrl}/v1/embeddings`, {
        method: "POST",
        headers: { authorization: `Bearer ${builder.key}` },
        body: JSON.stringify({ model: "embed-m3", input: `${MARK} a text` }),
      });
      assert.deepEqual([response.status, codeIn(await response.text())], [502, "upstream_failed"], what);
      assert.equal((await stage.record(response))?.charge_pico, "0", what);
      assert.equal(await node.earned(), 0n, what);
      await depart();
    }
  });

  /** A prompt of so many tokens as the gateway counts them. */
  const promptOf = async (tokens: number): Promise<string> => {
    const words = (count: number): string => `${MARK}${" hello".repeat(count)}`;
    const { text } = await asked({ model: "tiny-3b", prompt: words(10), max_tokens: 1 });
    const { usage } = JSON.parse(text) as { usage: { prompt_tokens: number } };
    return words(tokens - usage.prompt_tokens + 10);
  };

  test("a prompt of exactly the context size is a 400 that names it, and no node sees it", async () => {
    const node = await join("tiny-3b", honest());
    const prompt = await promptOf(CONTEXT);
    const seen = node.prompts.length;
    for (const stream of [false, true]) {
      const { status, text, record } = await asked({ model: "tiny-3b", prompt, stream });
      const { error } = JSON.parse(text) as { error: { type: string; param: string; message: string } };
      assert.deepEqual([status, error.type, error.param], [400, "invalid_request_error", "messages"]);
      const wording =
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 8192 tokens.";
      assert.ok(error.message.startsWith(wording), error.message);
      assert.equal(record, undefined);
    }
    assert.equal(node.prompts.length, seen);
    // One less leaves room for one token, and no more than that is asked for.
    const { status, record } = await asked({ model: "tiny-3b", prompt: await promptOf(CONTEXT - 1) });
    assert.deepEqual([status, record?.prompt_tokens, record?.completion_tokens], [200, CONTEXT - 1, 1]);
  });

  test("a node that refuses prompts near the limit is not barred for it", async () => {
    const node = await join(
      "tiny-3b",
      onMarked((job) => (job.prompt.length > 1_000 ? refusesPrompt(job) : honest()(job))),
    );
    const prompt = await promptOf(CONTEXT - 2);
    for (let i = 0; i < 15; i++) {
      const { status, text } = await asked({ model: "tiny-3b", prompt, stream: i % 2 === 0 });
      assert.equal(codeIn(text), "upstream_failed", `${status} ${text.slice(0, 200)}`);
    }
    await assertTrusted(node);
  });

  test("builders cannot have honest nodes barred: prompts that end at once", async () => {
    const silent = honest(({ prompt }) => (prompt.includes(MARK) ? "" : HONEST_ANSWER));
    const nodes = [await join("small-7b-alt", silent), await join("small-7b-alt", silent)];
    for (let i = 0; i < MANY; i++) {
      const { status, response, record } = await asked(marked("small-7b-alt", { stream: i % 2 === 0 }));
      assert.deepEqual([status, await said(response)], [200, ""]);
      // Two nodes agree that there is nothing to say: the prompt is billed, and the second is paid.
      assert.equal(record?.completion_tokens, 0);
      assert.ok(BigInt(record?.charge_pico ?? 0) > 0n);
    }
    assert.ok(
      nodes.every(({ prompts }) => prompts.some((prompt) => prompt.includes(MARK))),
      "both were asked",
    );
    await assertTrusted(...nodes);
  });

  test("builders cannot have honest nodes barred: stop strings that match at once, whoever applies them", async () => {
    const nodes = [await join("small-7b-alt", honest()), await join("small-7b-alt", deafToStops(HONEST_ANSWER))];
    const stop = HONEST_ANSWER.slice(0, 4);
    for (let i = 0; i < MANY; i++) {
      const { status, response, record } = await asked(marked("small-7b-alt", { stop, stream: i % 2 === 0 }));
      assert.deepEqual([status, await said(response), record?.completion_tokens], [200, "", 0]);
    }
    assert.ok(
      nodes.every(({ prompts }) => prompts.some((prompt) => prompt.includes(MARK))),
      "both were asked",
    );
    await assertTrusted(...nodes);
  });

  test("builders cannot have honest nodes barred: clients that leave at once", async () => {
    const nodes = [
      await join("small-7b-alt", honest(undefined, { delayMs: 300 })),
      await join("small-7b-alt", honest(undefined, { delayMs: 300 })),
    ];
    const promptsSeen = (): number => nodes.reduce((sum, node) => sum + node.prompts.length, 0);
    for (let i = 0; i < MANY; i++) {
      const leaving = new AbortController();
      const before = promptsSeen();
      const gone = ask(stage, builder.key, marked("small-7b-alt", { stream: i % 2 === 0 }), leaving.signal).then(
        (response) => response.text().catch(() => "gone"),
        () => "gone",
      );
      await eventually("a node has it", () => promptsSeen() > before);
      leaving.abort();
      await gone;
    }
    await stage.noHolds();
    await assertTrusted(...nodes);
  });

  test("one constant does not pass the canaries", async () => {
    await eventually("it is in quarantine", () => constant.is("quarantined"));
    type Barred = { quarantine: { reason: string } | null };
    const { body } = await nodeApi<Barred>(stage, constant.host.token, "GET", `/nodes/${constant.id}`);
    assert.equal(body.quarantine?.reason, "canary");
  });
});
