/**
 * Nodes that are killed, frozen, cut off the network or flood the plane: the client gets its defined ending, other requests
 * are untouched, and slots, holds and limits come back.
 */

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { connect as connectNats, credsAuthenticator, type NatsConnection } from "@nats-io/transport-node";
import { isAlive, newDataDir, type Platform, raiseLimits, removeDataDir, startPlatform } from "@tollgate/stage/dev.ts";
import { assertBalanced, lastRecord, untilSettled } from "@tollgate/stage/ledger-check.ts";
import { chat } from "@tollgate/stage/requests.ts";
import { eventually, hangSignal } from "@tollgate/stage/wait.ts";
import { encode } from "../protocol/src/codec.ts";

const SLOW = { tokens: 200, delta_ms: 40 };
/** Far more than a busy machine needs to find a node: what is refused here found none. */
const PATIENT = { DISPATCH_DEADLINE_MS: "120000" };

describe("bad nodes", () => {
  let dataDir: string;
  let platform: Platform;
  before(async () => {
    dataDir = await newDataDir();
    platform = await startPlatform(dataDir, ["--engine", "scripted", "--nodes", "2", "--models", "tiny-3b"], PATIENT);
    await raiseLimits(platform);
  });
  after(async () => {
    assert.equal(await platform?.stop(), 0);
    await removeDataDir(dataDir);
  });
  afterEach(async () => {
    await untilSettled(platform);
    await assertBalanced(platform);
  });

  /** Some streams on each of the two nodes, all of them under way: the least loaded node gets the next. */
  const startStreams = async (label: string) => {
    const order = { stream: true, user: label };
    const streams = await Promise.all(Array.from({ length: 6 }, () => chat(platform, SLOW, order)));
    return streams.map((response) => {
      const reader = (response.body as ReadableStream<Uint8Array>).getReader();
      let text = "";
      const rest = (async () => {
        for (;;) {
          const { done, value } = await reader.read();
          if (done) return text;
          text += Buffer.from(value).toString();
        }
      })();
      return { rest, begun: eventually("output flows", () => /"content":"[^"]/.test(text) && text.length > 600) };
    });
  };
  /** Those of the bad node ended as a stall, those of the other are whole; the records name one node for each. */
  const assertOneNodeStalled = async (texts: string[], label: string): Promise<void> => {
    const stalled = texts.filter((text) => text.includes('"code":"upstream_stall"') && !text.includes("[DONE]"));
    const whole = texts.filter((text) => text.trimEnd().endsWith("data: [DONE]"));
    const ends = texts.map((text) => text.slice(-200)).join("\n---\n");
    assert.ok(stalled.length > 0 && whole.length > 0, ends);
    assert.equal(stalled.length + whole.length, texts.length, ends);
    await untilSettled(platform);
    const served = await platform.query<{ outcome: string; nodes: number; attempts: number; requests: number }>(
      `select outcome, count(distinct node_id)::int as nodes, max(attempts)::int as attempts, count(*)::int as requests
         from request where label = $1 group by 1 order by 1`,
      [label],
    );
    assert.deepEqual(served, [
      { outcome: "ok", nodes: 1, attempts: 1, requests: whole.length },
      { outcome: "upstream_stall", nodes: 1, attempts: 1, requests: stalled.length },
    ]);
    const all = await platform.query("select distinct node_id from request where label = $1", [label]);
    assert.equal(all.length, 2, "the one that stalled is not the one that served");
  };
  const servedBy = async (n: number): Promise<void> =>
    void (await eventually(`${n} nodes serve`, async () => {
      const answers = await Promise.all(Array.from({ length: 8 }, () => chat(platform, { tokens: 5, delta_ms: 20 })));
      assert.ok(answers.every(({ status }) => status === 200));
      const rows = await platform.query<{ node_id: string }>(
        "select distinct node_id from (select node_id from request order by id desc limit 8) r",
      );
      return rows.length === n;
    }));

  test("frozen: its streams end as stalls, the other node works on, and it is back when it thaws", async () => {
    const [pid] = platform.ready.pids.nodes as [number];
    const streams = await startStreams("frozen");
    await Promise.all(streams.map(({ begun }) => begun));
    process.kill(pid, "SIGSTOP");
    try {
      await assertOneNodeStalled(await Promise.all(streams.map(({ rest }) => rest)), "frozen");
      const answers = await Promise.all(Array.from({ length: 6 }, () => chat(platform, { text: "still here" })));
      assert.ok(
        answers.every(({ status }) => status === 200),
        "a frozen node costs nobody an answer",
      );
    } finally {
      process.kill(pid, "SIGCONT");
    }
    await servedBy(2);
  });

  test("flooding: its own jobs fail, it is cut off, and others are served meanwhile", async () => {
    const flooder = await Flooder.join(platform);
    try {
      await eventually("it is online", async () => (await flooder.state()) === "online");
      const flood = flooder.flood();
      for (let served = 0; served < 20 || !flooder.wasCut; served++) {
        // Where the flooder got the job it never answers, and another node does.
        assert.equal((await chat(platform, { text: "calm" })).status, 200);
      }
      await flood;
      assert.equal(isAlive(platform.ready.pids.gateway), true);
    } finally {
      await flooder.leave();
    }
    await servedBy(2);
  });

  test("killed: a stall at once, the other node works on, and the slots are gone with it", async () => {
    const [, pid] = platform.ready.pids.nodes as [number, number];
    const streams = await startStreams("killed");
    await Promise.all(streams.map(({ begun }) => begun));
    process.kill(pid, "SIGKILL");
    await assertOneNodeStalled(await Promise.all(streams.map(({ rest }) => rest)), "killed");
    assert.equal((await chat(platform, { text: "alone" })).status, 200);
    assert.equal((await lastRecord(platform)).outcome, "ok");
  });
});

/** A node that keeps to its subjects and to nothing else. */
class Flooder {
  readonly #platform: Platform;
  readonly #id: string;
  readonly #line: NatsConnection;
  #gateway: string | undefined;

  static async join(platform: Platform): Promise<Flooder> {
    const api = async (method: string, path: string, body?: object) => {
      const response = await fetch(`${platform.ready.base_url}/node/v1${path}`, {
        method,
        headers: { authorization: `Bearer ${platform.ready.host_token}` },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      return (await response.json()) as Record<string, string>;
    };
    const { id } = (await api("POST", "/nodes", { name: "flooder" })) as { id: string };
    await api("PUT", `/nodes/${id}/elections`, { models: ["tiny-3b"] });
    const { jwt, seed, plane_url } = (await api("POST", `/nodes/${id}/credentials`)) as Record<string, string>;
    const creds = `-----BEGIN NATS USER JWT-----\n${jwt}\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n${seed}\n------END USER NKEY SEED------\n`;
    const line = await connectNats({
      servers: plane_url as string,
      authenticator: credsAuthenticator(Buffer.from(creds)),
      reconnect: false,
    });
    return new Flooder(platform, id, line);
  }

  private constructor(platform: Platform, id: string, line: NatsConnection) {
    this.#platform = platform;
    this.#id = id;
    this.#line = line;
    line.subscribe(`tg.n.${id}`, {
      callback: (_error, { data }) => {
        this.#gateway ??= /"gateway":"([0-9A-Za-z_]+)"/.exec(Buffer.from(data).toString("latin1"))?.[1];
      },
    });
    line.publish(`tg.s.${id}`, state());
  }

  async state(): Promise<string> {
    const response = await fetch(`${this.#platform.ready.base_url}/node/v1/nodes/${this.#id}`, {
      headers: { authorization: `Bearer ${this.#platform.ready.host_token}` },
    });
    return ((await response.json()) as { state: string }).state;
  }

  get wasCut(): boolean {
    return this.#line.isClosed();
  }

  /** Garbage, output of jobs that are not its own, and states, as fast as it can, until it is cut off. */
  async flood(): Promise<void> {
    const hung = hangSignal();
    const junk = Buffer.alloc(64 * 1024, 7);
    while (!this.#line.isClosed()) {
      assert.ok(!hung.aborted, "it is cut off");
      for (let i = 0; i < 50 && !this.#line.isClosed(); i++) {
        this.#line.publish(`tg.s.${this.#id}`, state());
        this.#line.publish(`tg.g.${this.#gateway ?? "nobody"}.${this.#id}`, i % 2 === 0 ? junk : foreignDelta());
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  async leave(): Promise<void> {
    await this.#line.close();
  }
}

const state = (): Uint8Array =>
  encode({
    kind: "state",
    state: { protocol: "1.0", agent: "flooder", slots: 4, busy: 0, models: ["tiny-3b"], draining: false },
  });
const foreignDelta = (): Uint8Array =>
  encode({ kind: "deltas", deltas: [{ job: "06dfk3zq9v8n2x4m7t1c5w0rbe-01", seq: 0, channel: "answer", text: "x" }] });
