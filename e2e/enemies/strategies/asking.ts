/** Builders whose requests hurt: engines, nodes' records, other builders' waiting, the gateway's memory. */
import { connect } from "node:net";
import type { Behaviour } from "@tollgate/stage/nodes/hand-made.ts";
import { pause } from "@tollgate/stage/nodes/pace.ts";
import { requestUuid } from "@tollgate/stage/raw-http.ts";
import { unitVector } from "../../../host/src/engines/prose.ts";
import { type Enemy, ordered, type Strategy, THINKING_MODEL, user } from "../strategy.ts";

const json = (schema: object): object => ({
  response_format: { type: "json_schema", json_schema: { name: "answer", schema } },
});

/** Each definition is two alternatives of the next: 2^30 of them. */
function poison(): object {
  const ref = (i: number): object => ({ $ref: `#/$defs/d${i}` });
  const defs = Array.from({ length: 30 }, (_, i) => [`d${i}`, { anyOf: [ref(i + 1), ref(i + 1)] }]);
  return { $defs: { ...Object.fromEntries(defs), d30: { type: "string" } }, ...ref(0) };
}

async function charge(enemy: Enemy, response: Response): Promise<{ charge_pico: string; outcome: string } | undefined> {
  await pause(200);
  const id = requestUuid(response.headers.get("x-request-id") ?? "");
  const [row] = await enemy.query<{ charge_pico: string; outcome: string }>(
    "select charge_pico, outcome from request where id = $1",
    [id],
  );
  return row;
}

/** Sends it, reads the answer, and counts it where it is a failure that was billed. */
const billedFailure = async (enemy: Enemy, key: string, body: object): Promise<void> => {
  const response = await enemy.chat(key, body);
  await response.text();
  const row = await charge(enemy, response);
  if (row !== undefined && row.outcome !== "ok" && row.charge_pico !== "0") enemy.takes("billed failures");
};

/** A request over a bare socket, whose answer nobody reads. */
function unread(enemy: Enemy, key: string, path: string, body: object): Promise<void> {
  const { hostname, port } = new URL(enemy.baseUrl);
  const text = JSON.stringify(body);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port) });
    socket.pause();
    socket.on("error", () => {});
    socket.on("close", () => resolve());
    enemy.over.addEventListener("abort", () => socket.destroy());
    const head = `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json`;
    socket.write(`${head}\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  });
}

const WIDTH = 1024;
const VECTORS_A_FRAME = 32;

/** Real vectors, as fast as they can be sent. */
const vectorsFor: Behaviour = async (job) => {
  job.accept();
  const count = "input" in job.body ? job.body.input.length : 0;
  const vector = unitVector("anything", WIDTH);
  for (let first = 0; first < count; first += VECTORS_A_FRAME) {
    job.vectors(first, Array(Math.min(VECTORS_A_FRAME, count - first)).fill(vector));
    await pause(1);
  }
  job.done();
};

/** Some 400 words a second, up to the cap. */
const longAnswer: Behaviour = async (job) => {
  job.accept();
  for (let said = 0; said < job.header.output_tokens_max && !job.cancelled.aborted; said += 20) {
    job.deltas([" endlessly".repeat(20)]);
    await pause(50);
  }
  job.done("length");
};

export const asking: Strategy[] = [
  {
    name: "poison schema",
    known: 9,
    does: "Sends a schema of 3 KB whose alternatives an engine expands for ever.",
    async attack(enemy) {
      const { key } = await enemy.builder();
      const body = { ...user("Answer."), ...json(poison()) };
      enemy.keep(async () => {
        const { status } = await enemy.chat(key, body, AbortSignal.timeout(5_000));
        if (status !== 400) enemy.takes("schemas taken");
      });
    },
  },
  {
    name: "integer with a minimum",
    known: 10,
    does: "Sends a valid schema with a keyword that the engine does not keep.",
    async attack(enemy) {
      const { key } = await enemy.builder();
      const schema = { type: "object", properties: { age: { type: "integer", minimum: 18 } }, required: ["age"] };
      enemy.keep(() => billedFailure(enemy, key, { ...user("How old?"), ...json(schema) }), { everyMs: 500 });
    },
  },
  {
    name: "request that silences engines",
    known: 11,
    does: "Sends a request that makes every engine fall silent.",
    async attack(enemy) {
      const { key } = await enemy.builder();
      const orders = { stall_after: 0 };
      enemy.keep(async () => void (await (await enemy.chat(key, ordered(orders))).text()), { lanes: 4 });
    },
  },
  {
    name: "slow prompt",
    known: 11,
    does: "Sends prompts that an engine reads for longer than two seconds, like 200,000 line breaks.",
    async attack(enemy) {
      const { key } = await enemy.builder();
      enemy.keep(async () => void (await (await enemy.chat(key, ordered({ ttft_ms: 2_600 }))).text()), { lanes: 4 });
    },
  },
  {
    name: "stop string that matches at once",
    known: 12,
    does: "Has a model think at length, and stops the answer before its first character.",
    async attack(enemy) {
      const { key } = await enemy.builder();
      const thinking = Array.from({ length: 300 }, (_, i) => `thought${i}`).join(" ");
      const body = {
        ...ordered({ reasoning: `<think>${thinking}</think>`, text: "xyz", delta_ms: 1 }),
        model: THINKING_MODEL,
        stop: "x",
        max_tokens: 2_000,
      };
      enemy.keep(
        async () => {
          const response = await enemy.chat(key, body);
          const text = await response.text();
          const row = await charge(enemy, response);
          if (response.status === 200 && row?.charge_pico === "0") enemy.takes("characters for nothing", text.length);
        },
        { lanes: 2, everyMs: 100 },
      );
    },
  },
  {
    name: "four stop strings that nearly match",
    does: "Sends four stop strings of 2,048 characters that match all but the end of the answer.",
    async attack(enemy) {
      const { key } = await enemy.builder();
      const stop = ["b", "c", "d", "e"].map((end) => `${"a".repeat(2_047)}${end}`);
      const body = { ...ordered({ text: "a".repeat(20_000) }), stop, max_tokens: 4_000, stream: true };
      enemy.keep(async () => void (await (await enemy.chat(key, body)).text()), { lanes: 2 });
    },
  },
  {
    name: "unread embeddings",
    known: 13,
    does: "Asks for embeddings of 2,048 texts, over and over, and reads no answer.",
    async attack(enemy) {
      const { key } = await enemy.builder();
      await enemy.node(vectorsFor, { models: ["embed-m3"] });
      const body = { model: "embed-m3", input: Array.from({ length: 2_048 }, (_, i) => `text ${i}`) };
      enemy.keep(() => unread(enemy, key, "/v1/embeddings", body), { lanes: 60, everyMs: 100 });
    },
  },
  {
    name: "unread streams",
    does: "Opens streams of long answers and reads none of them.",
    async attack(enemy) {
      const { key } = await enemy.builder();
      await enemy.node(longAnswer, { models: ["mid-14b"] });
      const body = { model: "mid-14b", stream: true, max_tokens: 30_000, ...user("Tell me everything.") };
      enemy.keep(() => unread(enemy, key, "/v1/chat/completions", body), { lanes: 40, everyMs: 200 });
    },
  },
];
