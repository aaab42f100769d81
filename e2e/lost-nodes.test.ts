/**
 * Nodes and NATS servers that become unreachable during requests: agents that are frozen, killed or cut off, and a
 * gateway that loses its NATS server. The gateway runs in the test's process on a clock that the test moves, so no
 * result depends on the machine's speed.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, describe, test } from "node:test";
import { HIGH_KEY_LIMITS } from "@tollgate/stage/builder-and-host-accounts.ts";
import { findErrorCode, sendUserMessage } from "@tollgate/stage/builder-requests.ts";
import { type NatsPlane, openNats, skipWithoutNats } from "@tollgate/stage/dispatch-planes.ts";
import type { Process } from "@tollgate/stage/killable-process.ts";
import { assertBalanced, type RequestRecordRow } from "@tollgate/stage/ledger-check.ts";
import { callNodeApi } from "@tollgate/stage/nodes/hand-made-node.ts";
import { createAgent, startNode } from "@tollgate/stage/nodes/start-agent.ts";
import { readResponseParts, readText } from "@tollgate/stage/raw-http.ts";
import { explainMissingNetwork, type Network, openNetwork } from "@tollgate/stage/servers/network-namespace.ts";
import {
  type BuilderAccount,
  type HostAccount,
  type InProcessStage,
  NO_QUARANTINE_OR_PROBATION_ENV,
  openStage,
} from "@tollgate/stage/stage.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { computeHostShare } from "../gateway/src/base/testing.ts";
import {
  type BreakableConnection,
  openBreakableConnection,
} from "../gateway/src/plane/nats/testing-breakable-connection.ts";

const PRICE = { in: 20_000n, out: 40_000n };
/** An answer with more words than any test reads. */
const ENDLESS = { tokens: 100_000, delta_ms: 20 };

/** Sends a builder's requests. Their `orders` tell the scripted engine what to answer. */
class Client {
  readonly #stage: InProcessStage;
  readonly #builder: BuilderAccount;

  constructor(stage: InProcessStage, builder: BuilderAccount) {
    this.#stage = stage;
    this.#builder = builder;
  }

  chat(orders: object, more: object = {}, signal?: AbortSignal): Promise<Response> {
    const prompt = `#script ${JSON.stringify(orders)}`;
    return sendUserMessage(this.#stage, this.#builder.key, { model: "tiny-3b", prompt, ...more }, signal);
  }

  async serves(model: string): Promise<boolean> {
    const response = await this.chat({ text: "x" }, { model });
    await readText(response);
    return response.status === 200;
  }

  /** Starts a stream and resolves once five words of it have arrived. */
  async stream(orders: object, more: object = {}): Promise<Flow> {
    const flow = new Flow(await this.chat(orders, { stream: true, ...more }));
    while (flow.words < 5) assert.ok(await flow.read(), flow.text);
    return flow;
  }

  balance(): Promise<bigint> {
    return this.#stage.balance(this.#builder.account);
  }
}

/** A stream that the test reads piece by piece. */
class Flow {
  readonly response: Response;
  text = "";
  readonly #parts: AsyncGenerator<string, void>;

  constructor(response: Response) {
    this.response = response;
    this.#parts = readResponseParts(response);
  }

  get words(): number {
    // Counts words instead of events, because pieces that arrive together are sent as one event.
    const said = [...this.text.matchAll(/"content":"([^"]*)"/g)].map(([, text]) => text).join("");
    return said.split(/\s+/).filter((word) => word !== "").length;
  }

  /** Reads the next piece. Returns false at the end of the stream. */
  async read(): Promise<boolean> {
    const { value, done } = await this.#parts.next();
    this.text += value ?? "";
    return done !== true;
  }

  async rest(): Promise<string> {
    while (await this.read());
    return this.text;
  }
}

const chargeOf = (record: RequestRecordRow | undefined): bigint =>
  BigInt(record?.prompt_tokens ?? 0) * PRICE.in + BigInt(record?.completion_tokens ?? 0) * PRICE.out;

const assertStalled = (text: string): void => {
  assert.equal(findErrorCode(text), "upstream_stall", text.slice(-300));
  assert.doesNotMatch(text, /\[DONE\]/);
};

const uuidOf = async ({ query }: InProcessStage, name: string): Promise<string> => {
  const [node] = await query<{ id: string }>("select id from node where name = $1", [name]);
  return node?.id as string;
};

for (const plane of ["hub", "nats"] as const) {
  describe(`a node that becomes unreachable, on ${plane}`, { skip: plane === "nats" && skipWithoutNats }, () => {
    let stage: InProcessStage;
    let client: Client;
    /** Both nodes serve "tiny-3b". In addition, only `steady` serves "small-8b", and only `lost` serves "mid-14b". */
    let steady: Process;
    let lost: Process;

    before(async () => {
      stage = await openStage({ as: "in-process", plane, env: NO_QUARANTINE_OR_PROBATION_ENV });
      client = new Client(stage, await stage.builder());
      const start = async (name: string, model: string): Promise<Process> => {
        const ready = { gateway_url: stage.baseUrl, host_token: (await stage.host()).token };
        return startNode({ ready }, { name, model: `tiny-3b,${model}`, slots: 16 });
      };
      [steady, lost] = await Promise.all([start("steady", "small-8b"), start("lost", "mid-14b")]);
      for (const model of ["small-8b", "mid-14b"]) await eventually("it serves", () => client.serves(model));
    });
    after(async () => {
      await steady?.kill();
      await lost?.kill();
      await stage?.close();
    });
    afterEach(async () => {
      await stage.noHolds();
      await assertBalanced(stage);
    });

    const stalledRecords = async (streams: Flow[]): Promise<void> => {
      const node = await uuidOf(stage, "lost");
      for (const { response } of streams) {
        const record = await stage.record(response);
        assert.deepEqual([record?.outcome, record?.attempts, record?.node_id], ["upstream_stall", 1, node]);
        assert.ok(
          BigInt(record?.charge_pico ?? 0) > 0n && BigInt(record?.host_pico ?? -1) === 0n,
          "billed, and the share withheld",
        );
      }
    };
    const servedBySteady = async (answers: Response[]): Promise<void> => {
      const node = await uuidOf(stage, "steady");
      for (const answer of answers) {
        assert.equal(answer.status, 200);
        const record = await stage.record(answer);
        assert.deepEqual([record?.outcome, record?.node_id], ["ok", node]);
      }
    };

    /**
     * Advances the clock by 50 ms with each word of the working node's stream, so that this node never seems silent.
     */
    async function pacedBySteady(run: () => Promise<void>): Promise<void> {
      const gone = new AbortController();
      const response = await client.chat(ENDLESS, { model: "small-8b", stream: true }, gone.signal);
      const flow = new Flow(response);
      let isOver = false;
      const paced = (async () => {
        while (!isOver) {
          const { words } = flow;
          assert.ok(await flow.read(), `the other node's stream has ended: ${flow.text.slice(-300)}`);
          stage.clock.advance(50 * (flow.words - words));
        }
      })();
      try {
        await Promise.race([run(), paced]);
      } finally {
        isOver = true;
        await paced;
        gone.abort();
      }
    }

    test("the streams of a frozen node stall, no other request fails, and the node serves again when it continues", async () => {
      const streams = await Promise.all(Array.from({ length: 3 }, () => client.stream(ENDLESS, { model: "mid-14b" })));
      await pacedBySteady(async () => {
        lost.stop();
        try {
          for (const stream of streams) assertStalled(await stream.rest());
          await stalledRecords(streams);
          await servedBySteady(await Promise.all(Array.from({ length: 6 }, () => client.chat({ text: "still here" }))));
        } finally {
          lost.cont();
        }
        await eventually("it serves again", () => client.serves("mid-14b"));
      });
    });

    test("the streams of a killed node stall immediately, and its slots disappear", async () => {
      const [streams, other] = await Promise.all([
        Promise.all(Array.from({ length: 3 }, () => client.stream(ENDLESS, { model: "mid-14b" }))),
        client.stream({ tokens: 100, delta_ms: 20 }, { model: "small-8b" }),
      ]);
      const killedAt = stage.clock.now();
      await lost.kill();
      for (const stream of streams) assertStalled(await stream.rest());
      assert.match(await other.rest(), /data: \[DONE\]\s*$/);
      await stalledRecords(streams);
      await servedBySteady([
        other.response,
        ...(await Promise.all([1, 2, 3].map(() => client.chat({ text: "alone" })))),
      ]);
      const refused = await client.chat({ text: "x" }, { model: "mid-14b" });
      assert.deepEqual([refused.status, findErrorCode(await readText(refused))], [503, "no_capacity"]);
      assert.equal(stage.clock.now(), killedAt, "no time has passed");
    });
  });
}

const noNetwork = await explainMissingNetwork();

describe("a node whose network connection is cut", { skip: noNetwork ?? false }, () => {
  let network: Network;
  let stage: InProcessStage;
  let client: Client;
  let host: HostAccount;
  let directory: string;
  let agent: Process;

  before(async () => {
    network = await openNetwork();
    stage = await openStage({ as: "in-process", env: { ...NO_QUARANTINE_OR_PROBATION_ENV, HOST: network.near } });
    client = new Client(stage, await stage.builder());
    host = await stage.host();
    directory = await mkdtemp(join(tmpdir(), "tollgate-far-"));
    const traits = { name: "far", gatewayUrl: stage.baseUrl, hostToken: host.token, models: ["tiny-3b"], slots: 4 };
    agent = createAgent({ ...traits, logFile: join(directory, "log"), wrapper: network.inside([]) });
    await agent.start();
    await eventually("the far node serves", () => client.serves("tiny-3b"));
  });
  after(async () => {
    await agent?.kill();
    await stage?.close();
    await network?.close();
    await rm(directory, { recursive: true });
  });

  test("the node's stream stalls, its output is billed, and the node serves again when the network recovers", async () => {
    const { clock } = stage;
    const stream = await client.stream(ENDLESS);
    network.cut();
    const stalled = stream.rest();
    // Output that the node sent before the cut may still arrive.
    clock.advance(1_000);
    await eventually("its silence is noticed", async () => {
      clock.advance(100);
      return (await stage.query("select id from hold")).length === 0;
    });
    assertStalled(await stalled);
    const record = await stage.record(stream.response);
    assert.deepEqual([record?.outcome, BigInt(record?.charge_pico ?? 0)], ["upstream_stall", chargeOf(record)]);
    assert.ok(record && record.completion_tokens > 0 && BigInt(record.host_pico) === 0n);
    await eventually("its connection is given up", async () => {
      clock.advance(1_000);
      const { body } = await callNodeApi<{ data: { state: string }[] }>(stage, host.token, "GET", "/nodes");
      return body.data[0]?.state !== "online";
    });
    const refused = await client.chat({ text: "x" });
    assert.deepEqual([refused.status, findErrorCode(await readText(refused))], [503, "no_capacity"]);
    network.heal();
    await eventually("it serves again", () => client.serves("tiny-3b"));
    await stage.noHolds();
    await assertBalanced(stage);
  });
});

const DEADLINE_MS = 20_000;
/** The gateway holds back all of this output, because it might be the beginning of a stop string. */
const KEPT_BACK = Array(20).fill("x").join(" ");
const KEPT_BACK_STREAM = { stream: true, stop: `${KEPT_BACK} y` };
const IN_PIECES = { tokens: 40, delta_ms: 20 };
const KEPT_BACK_ORDERS = { text: KEPT_BACK, delta_ms: 20, ignore_stop: true };

describe("a gateway that loses its NATS server", { skip: skipWithoutNats }, () => {
  let nats: NatsPlane;
  let cable: BreakableConnection;
  let stage: InProcessStage;
  let client: Client;
  let node: { id: string; host: HostAccount };
  const cleanUp: (() => void)[] = [];

  before(async () => {
    nats = await openNats();
    const url = nats.env.NATS_URL as string;
    cable = await openBreakableConnection(
      { after: (run) => cleanUp.push(run as () => void) },
      Number(new URL(url).port),
    );
    const itsPlane = { ...nats.env, NATS_URL: cable.url, PLANE_PUBLIC_URL: url };
    const env = { ...NO_QUARANTINE_OR_PROBATION_ENV, ...itsPlane, DISPATCH_DEADLINE_MS: String(DEADLINE_MS) };
    stage = await openStage({ as: "in-process", env });
    client = new Client(stage, await stage.builder(undefined, { ...HIGH_KEY_LIMITS, labels: true }));
    node = await stage.node({ models: ["tiny-3b"] });
  });
  after(async () => {
    await stage?.close();
    for (const run of cleanUp) run();
    await nats?.close();
  });
  afterEach(async () => {
    cable.plug();
    await stage.noHolds();
    await assertBalanced(stage);
    assert.equal((await stats()).reliability.failures, 0, "nobody is blamed");
    await clockRuns(async () => {
      await eventually("it serves", () => client.serves("tiny-3b"));
      await eventually("canaries end", async () => (await stats()).busy === 0);
    });
  });

  const stats = async () =>
    (
      await callNodeApi<{ busy: number; reliability: { failures: number } }>(
        stage,
        node.host.token,
        "GET",
        `/nodes/${node.id}/stats`,
      )
    ).body;
  /** Waits until the node runs this many requests. It counts holds, because canaries, which may run too, have none. */
  const runs = (requests: number): Promise<unknown> =>
    eventually("the node runs them", async () => {
      const holds = await stage.query("select id from hold");
      return holds.length === requests && (await stats()).busy >= requests;
    });
  async function clockRuns<T>(until: () => Promise<T>): Promise<T> {
    const stop = stage.runClock();
    try {
      return await until();
    } finally {
      stop();
    }
  }

  for (const [what, orders, more] of [
    ["a request that is not streamed", IN_PIECES, {}],
    ["a stream that has not sent output", KEPT_BACK_ORDERS, KEPT_BACK_STREAM],
  ] as const) {
    test(`during a short loss, ${what} is retried and billed once`, async () => {
      const before = await client.balance();
      const answer = client.chat(orders, more);
      await runs(1);
      cable.cut();
      const response = await clockRuns(() => answer);
      assert.equal(response.status, 200);
      assert.match(await clockRuns(() => readText(response)), "stream" in more ? /\[DONE\]/ : /"finish_reason":"stop"/);
      const record = await stage.record(response);
      assert.equal(record?.outcome, "ok");
      assert.equal(before - (await client.balance()), chargeOf(record));
    });
  }

  test("during a short loss, a stream that has sent output ends, and its output is billed and paid", async () => {
    const [before, earned] = [await client.balance(), await stage.balance(node.host.account)];
    const stream = await clockRuns(() => client.stream(IN_PIECES));
    cable.cut();
    const text = await stream.rest();
    assertStalled(text);
    assert.doesNotMatch(text, /finish_reason":"/);
    const record = await stage.record(stream.response);
    assert.deepEqual([record?.outcome, record?.http_status, record?.attempts], ["plane_lost", 502, 1]);
    assert.equal(record?.completion_tokens, stream.words, "a token a word");
    const paid = before - (await client.balance());
    assert.equal(paid, chargeOf(record));
    assert.equal((await stage.balance(node.host.account)) - earned, computeHostShare(paid));
  });

  test("during a loss longer than the dispatch deadline, nothing is charged and new requests are refused", async () => {
    const [before, earned] = [await client.balance(), await stage.balance(node.host.account)];
    const running = [client.chat(IN_PIECES), client.chat(KEPT_BACK_ORDERS, KEPT_BACK_STREAM)].map(async (asked) => {
      const response = await asked;
      return { response, text: await readText(response) };
    });
    await runs(2);
    cable.unplug();
    await eventually("new ones are refused", async () => !(await client.serves("tiny-3b")));
    // Sends more requests than may be in flight for a model without nodes. All must be refused.
    const refused = await Promise.all(
      Array.from({ length: 24 }, (_, i) => client.chat({ text: "x" }, { stream: i % 2 === 0, user: "at the door" })),
    );
    for (const response of refused) {
      assert.deepEqual([response.status, findErrorCode(await readText(response))], [503, "no_capacity"]);
      assert.ok(Number(response.headers.get("retry-after")) >= 1);
      assert.equal(response.headers.get("x-should-retry"), "true");
    }
    stage.clock.advance(DEADLINE_MS);
    const ended = await Promise.all(running);
    assert.equal(ended[0]?.response.status, 503);
    for (const { response, text } of ended) {
      assert.equal(findErrorCode(text), "no_capacity");
      const record = await stage.record(response);
      assert.deepEqual([record?.outcome, record?.http_status, record?.charge_pico], ["plane_lost", 503, "0"]);
    }
    const recorded = await stage.query("select id from request where label = 'at the door'");
    assert.deepEqual(recorded, [], "a request that was refused at once leaves no record");
    assert.deepEqual([await client.balance(), await stage.balance(node.host.account)], [before, earned]);
  });
});
