/**
 * Tests how far the platform trusts nodes: new nodes, those of a host with a quarantined node, and those that want to
 * be paid without work. Also tests builders that try to get honest nodes quarantined. Quarantine is automatic here.
 * Every test has its own hosts; where a rule concerns the requests of one model, no other test uses that model at the
 * same time.
 */

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join as path } from "node:path";
import { after, afterEach, before, describe, test } from "node:test";
import {
  findAnswerText,
  findErrorCode,
  type GenerationRequest,
  sendUserMessage,
} from "@tollgate/stage/builder-requests.ts";
import { assertBalanced } from "@tollgate/stage/ledger-check.ts";
import { type Behaviour, callNodeApi, HandMadeNode } from "@tollgate/stage/nodes/hand-made-node.ts";
import {
  answerHonestly,
  applyToMarkedPrompts,
  BEHAVIOUR_PROMPT_MARK,
  finishWithoutOutput,
  giveConstantAnswer,
  HONEST_ANSWER,
  ignoreStopStrings,
  PROTOCOL_VIOLATIONS,
  refusePrompt,
  sendEmptyDeltas,
  WRONG_VECTORS,
} from "@tollgate/stage/nodes/node-behaviours.ts";
import { readText } from "@tollgate/stage/raw-http.ts";
import { runAdminCommand } from "@tollgate/stage/run-admin-command.ts";
import { type BuilderAccount, type InProcessStage, openStage } from "@tollgate/stage/stage.ts";
import { eventually, hangSignal } from "@tollgate/stage/wait.ts";
import { writeCatalogue } from "@tollgate/stage/write-catalogue.ts";
import { nodeCommands } from "../../gateway/src/commands/admin/nodes.ts";

/** More than the latest 20 jobs, by which the gateway decides on quarantine. */
const MANY = 25;
const CONTEXT = 8192;

interface NodeObject {
  probation: { answers: number; needed: number } | null;
  withheld: string | null;
  quarantine: { reason: string } | null;
}

describe("quarantine, probation and payment of nodes", () => {
  let directory: string;
  let stage: InProcessStage;
  let builder: BuilderAccount;
  let constant: HandMadeNode;
  before(async () => {
    directory = await mkdtemp(path(tmpdir(), "tollgate-trust-"));
    // Removes the canaries of all models but one, so that they affect only the test about canaries.
    const none = { canaries: [] };
    const models = ["tiny-3b", "small-8b", "small-7b-alt", "reason-32b", "embed-m3"];
    const file = await writeCatalogue(directory, Object.fromEntries(models.map((model) => [model, none])));
    const env = {
      AUTO_QUARANTINE: "true",
      PROBATION_ANSWERS: "20",
      CATALOGUE_FILE: file,
      DISPATCH_DEADLINE_MS: "10000",
    };
    stage = await openStage({ as: "in-process", clock: "running", env });
    builder = await stage.builder();
    const traits = { name: "constant", models: ["mid-14b"], behaviour: giveConstantAnswer };
    constant = await HandMadeNode.join(stage, await stage.host(), traits);
  });
  after(async () => {
    await constant?.leave();
    await stage?.close();
    await rm(directory, { recursive: true });
  });
  afterEach(async () => {
    // Removes the test's nodes even if it failed, because the next test must find only its own.
    await depart();
    await stage.noHolds();
    await assertBalanced(stage);
  });

  /** The nodes that the current test has joined. */
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
  const asked = async (order: GenerationRequest, signal?: AbortSignal) => {
    const response = await sendUserMessage(stage, builder.key, order, signal);
    const text = await readText(response);
    return { response, text, record: await stage.record(response), status: response.status };
  };
  const assertTrusted = async (...nodes: HandMadeNode[]): Promise<void> => {
    for (const node of nodes) assert.equal(await node.state(), "online");
  };
  const marked = (model: string, more: object = {}): GenerationRequest => ({
    model,
    prompt: `${BEHAVIOUR_PROMPT_MARK} say something`,
    ...more,
  });

  test("an empty answer by the only node of a model is free for the builder, and the node earns nothing", async () => {
    const node = await join("small-8b", applyToMarkedPrompts(finishWithoutOutput));
    for (let i = 0; i < MANY; i++) {
      const { status, response, text, record } = await asked(marked("small-8b", { stream: i % 2 === 0 }));
      assert.deepEqual([status, findAnswerText(response, text)], [200, ""]);
      assert.deepEqual([record?.outcome, record?.charge_pico, record?.host_pico], ["ok", "0", "0"]);
    }
    assert.equal(await node.earned(), 0n);
    // An empty answer counts against a node only if a second opinion (another host's node) disagrees.
    await assertTrusted(node);
  });

  test("a node without output is quarantined and never paid, while an honest node answers every request", async () => {
    const idler = await join("small-8b", finishWithoutOutput);
    const worker = await join(
      "small-8b",
      answerHonestly(() => HONEST_ANSWER, { delayMs: 20 }),
    );
    await eventually("the idler is in quarantine", async () => {
      // Sends several requests at a time, so that the faster node does not get all of them.
      const orders = [false, true, false, true, false, true].map((stream) => marked("small-8b", { stream }));
      for (const { status, response, text, record } of await Promise.all(orders.map((order) => asked(order)))) {
        assert.deepEqual([status, findAnswerText(response, text)], [200, HONEST_ANSWER]);
        assert.equal(record?.host_account_id, worker.host.account);
      }
      return await idler.is("quarantined");
    });
    assert.equal(await idler.earned(), 0n);
    assert.ok((await worker.earned()) > 0n);
    await assertTrusted(worker);
  });

  const nodeObject = async ({ id, host }: HandMadeNode): Promise<NodeObject> =>
    (await callNodeApi<NodeObject & Record<string, unknown>>(stage, host.token, "GET", `/nodes/${id}`)).body;
  const operate = async (command: string, id?: string): Promise<string> => {
    const said = { args: id === undefined ? [] : [id], flags: { reason: "seen cheating" } };
    const { code, output } = await runAdminCommand(
      stage,
      (nodeCommands[command] as { run: Parameters<typeof runAdminCommand>[1] }).run,
      said,
    );
    assert.equal(code, 0, output);
    return output;
  };

  for (const [until, command] of [
    ["the quarantine is lifted", "node release"],
    ["an operator clears them", "node clear"],
  ] as const) {
    test(`new nodes of a host with a quarantined node get no jobs until ${until}`, async () => {
      const { host, id } = await join("small-8b", answerHonestly());
      const add = async (model: string, waits: boolean): Promise<HandMadeNode> => {
        const traits = { name: `another for ${model}`, models: [model], behaviour: answerHonestly(), waits };
        const node = await HandMadeNode.join(stage, host, traits);
        present.push(node);
        return node;
      };
      await add("tiny-3b", true);
      await operate("node quarantine", id);
      const next = await add("small-8b", false);
      assert.equal((await nodeObject(next)).withheld, "host_quarantine");
      assert.match(
        await operate("node list"),
        new RegExp(`${next.id}.*gets no requests: its host has a node in quarantine`),
      );
      for (let i = 0; i < 5; i++) {
        const { status, text } = await asked(marked("small-8b"));
        assert.deepEqual([status, findErrorCode(text)], [503, "no_capacity"]);
        next.report();
      }
      assert.deepEqual(
        next.prompts.filter((prompt) => prompt.includes(BEHAVIOUR_PROMPT_MARK)),
        [],
      );
      assert.equal((await asked(marked("tiny-3b"))).status, 200, "nodes that were there before go on");
      await operate(command, command === "node release" ? id : next.id);
      assert.equal((await nodeObject(next)).withheld, null);
      await eventually("it works", async () => {
        next.report();
        return (await asked(marked("small-8b"))).status === 200;
      });
      const [act] = await stage.query("select action, subject, outcome from operator_action order by id desc limit 1");
      const subject = command === "node release" ? id : next.id;
      assert.deepEqual(act, { action: command.replace(" ", "."), subject, outcome: "done" });
    });
  }

  test("a new node gets one job at a time until it has given 20 honest answers", async () => {
    let [running, most] = [0, 0];
    let release = (): void => {};
    const node = await join("reason-32b", async (job) => {
      const counts = job.prompt.includes(BEHAVIOUR_PROMPT_MARK);
      if (counts) most = Math.max(most, ++running);
      if (job.prompt.includes("hold")) {
        const released = new Promise<void>((resolve) => {
          release = resolve;
        });
        job.accept();
        const stop = stage.clock.every(100, () => job.deltas(["more "]));
        await released;
        stop();
        job.done();
      } else await answerHonestly(undefined, { delayMs: 30 })(job);
      if (counts) running -= 1;
    });
    assert.deepEqual((await nodeObject(node)).probation, { answers: 0, needed: 20 });
    const held = asked({ model: "reason-32b", prompt: `${BEHAVIOUR_PROMPT_MARK} hold`, stream: true });
    await eventually("the node has it", () => running === 1);
    let beside: Awaited<ReturnType<typeof asked>> | undefined;
    void asked(marked("reason-32b")).then((answer) => {
      beside = answer;
    });
    const { status, text } = await eventually("the one beside it is answered", () => {
      stage.clock.advance(100);
      return beside;
    });
    assert.deepEqual([status, findErrorCode(text)], [503, "no_capacity"]);
    release();
    assert.equal((await held).status, 200);
    const together = async (count: number): Promise<void> => {
      const order = marked("reason-32b", { max_tokens: 50 });
      for (const { status } of await Promise.all(Array.from({ length: count }, () => asked(order)))) {
        assert.equal(status, 200);
      }
    };
    // Six concurrent requests are fewer than one account may have in flight for the model.
    for (let i = 0; i < 3; i++) await together(6);
    assert.equal(most, 1);
    await eventually("it is trusted with more", async () => {
      await together(6);
      return most > 1;
    });
    assert.equal((await nodeObject(node)).probation, null);
    await assertTrusted(node);
  });

  for (const stream of [false, true]) {
    test(`a ${stream ? "streamed" : "plain"} request whose node sends only empty output ends as stalled and is free`, async () => {
      await join("small-8b", applyToMarkedPrompts(sendEmptyDeltas));
      // Only the gateway can end this request, because the node sends empty output forever.
      const { text, record } = await asked(marked("small-8b", { stream }), hangSignal());
      assert.equal(findErrorCode(text), "upstream_stall");
      assert.deepEqual([record?.outcome, record?.charge_pico, record?.host_pico], ["upstream_stall", "0", "0"]);
    });
  }

  test("a node that breaks the protocol is not paid: a request without streaming is free, and a stream costs the output that arrived", async () => {
    for (const [what, behaviour] of Object.entries(PROTOCOL_VIOLATIONS)) {
      const node = await join("small-7b-alt", applyToMarkedPrompts(behaviour));
      const whole = await asked(marked("small-7b-alt"));
      assert.deepEqual([whole.status, findErrorCode(whole.text)], [502, "upstream_failed"], what);
      assert.deepEqual([whole.record?.outcome, whole.record?.charge_pico], ["upstream_failed", "0"], what);
      const streamed = await asked(marked("small-7b-alt", { stream: true }));
      assert.deepEqual(
        [findErrorCode(streamed.text), findAnswerText(streamed.response, streamed.text)],
        ["upstream_failed", "some words"],
        what,
      );
      assert.equal(streamed.record?.completion_tokens, 2, what);
      assert.ok(BigInt(streamed.record?.charge_pico ?? 0) > 0n, what);
      assert.equal(await node.earned(), 0n, what);
      await depart();
    }
  });

  test("a node that sends wrong vectors is not paid", async () => {
    for (const [what, behaviour] of Object.entries(WRONG_VECTORS)) {
      const node = await join("embed-m3", applyToMarkedPrompts(behaviour));
      const response = await fetch(`${stage.baseUrl}/v1/embeddings`, {
        method: "POST",
        headers: { authorization: `Bearer ${builder.key}` },
        body: JSON.stringify({ model: "embed-m3", input: `${BEHAVIOUR_PROMPT_MARK} a text` }),
      });
      assert.deepEqual([response.status, findErrorCode(await readText(response))], [502, "upstream_failed"], what);
      assert.equal((await stage.record(response))?.charge_pico, "0", what);
      assert.equal(await node.earned(), 0n, what);
      await depart();
    }
  });

  /** Makes a prompt with this many tokens, as counted by the gateway. */
  const promptOf = async (tokens: number): Promise<string> => {
    const words = (count: number): string => `${BEHAVIOUR_PROMPT_MARK}${" hello".repeat(count)}`;
    const { text } = await asked({ model: "tiny-3b", prompt: words(10), max_tokens: 1 });
    const { usage } = JSON.parse(text) as { usage: { prompt_tokens: number } };
    return words(tokens - usage.prompt_tokens + 10);
  };

  test("a prompt that fills the whole context gets a 400 with the context size, and reaches no node", async () => {
    const node = await join("tiny-3b", answerHonestly());
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
    // A prompt one token shorter leaves room for one output token. More cannot be requested.
    const { status, record } = await asked({ model: "tiny-3b", prompt: await promptOf(CONTEXT - 1) });
    assert.deepEqual([status, record?.prompt_tokens, record?.completion_tokens], [200, CONTEXT - 1, 1]);
  });

  test("a node that refuses prompts near the context size is not quarantined", async () => {
    const node = await join(
      "tiny-3b",
      applyToMarkedPrompts((job) => (job.prompt.length > 1_000 ? refusePrompt(job) : answerHonestly()(job))),
    );
    const prompt = await promptOf(CONTEXT - 2);
    for (let i = 0; i < 15; i++) {
      const { status, text } = await asked({ model: "tiny-3b", prompt, stream: i % 2 === 0 });
      assert.equal(findErrorCode(text), "upstream_failed", `${status} ${text.slice(0, 200)}`);
    }
    await assertTrusted(node);
  });

  test("honest nodes are not quarantined for prompts whose answer is empty", async () => {
    const silent = answerHonestly(({ prompt }) => (prompt.includes(BEHAVIOUR_PROMPT_MARK) ? "" : HONEST_ANSWER));
    const nodes = [await join("small-7b-alt", silent), await join("small-7b-alt", silent)];
    for (let i = 0; i < MANY; i++) {
      const { status, response, text, record } = await asked(marked("small-7b-alt", { stream: i % 2 === 0 }));
      assert.deepEqual([status, findAnswerText(response, text)], [200, ""]);
      // The second node confirms that the answer is empty. The prompt is billed, and the second node is paid.
      assert.equal(record?.completion_tokens, 0);
      assert.ok(BigInt(record?.charge_pico ?? 0) > 0n);
    }
    assert.ok(
      nodes.every(({ prompts }) => prompts.some((prompt) => prompt.includes(BEHAVIOUR_PROMPT_MARK))),
      "both were asked",
    );
    await assertTrusted(...nodes);
  });

  test("honest nodes are not quarantined if a stop string matches the start of the answer and leaves it empty", async () => {
    const stop = HONEST_ANSWER.slice(0, 4);
    for (const behaviour of [answerHonestly(), ignoreStopStrings(HONEST_ANSWER)]) {
      const node = await join("small-7b-alt", behaviour);
      for (let i = 0; i < MANY; i++) {
        const { status, response, text, record } = await asked(marked("small-7b-alt", { stop, stream: i % 2 === 0 }));
        assert.deepEqual([status, findAnswerText(response, text), record?.completion_tokens], [200, "", 0]);
      }
      assert.ok(node.prompts.filter((prompt) => prompt.includes(BEHAVIOUR_PROMPT_MARK)).length >= MANY);
      await assertTrusted(node);
      await depart();
    }
  });

  test("honest nodes are not quarantined if clients disconnect immediately", async () => {
    const nodes = [
      await join("small-7b-alt", answerHonestly(undefined, { delayMs: 300 })),
      await join("small-7b-alt", answerHonestly(undefined, { delayMs: 300 })),
    ];
    const promptsSeen = (): number => nodes.reduce((sum, node) => sum + node.prompts.length, 0);
    for (let i = 0; i < MANY; i++) {
      const leaving = new AbortController();
      const before = promptsSeen();
      const gone = sendUserMessage(
        stage,
        builder.key,
        marked("small-7b-alt", { stream: i % 2 === 0 }),
        leaving.signal,
      ).then(
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

  test("a node that always gives the same answer fails canaries", async () => {
    await eventually("it is in quarantine", () => {
      stage.clock.advance(100);
      return constant.is("quarantined");
    });
    assert.equal((await nodeObject(constant)).quarantine?.reason, "canary");
  });
});
