/** Builders whose requests harm engines, nodes' records, other builders' waiting times or the gateway's memory. */
import { connect } from "node:net";
import { answerHonestly } from "@tollgate/stage/nodes/node-behaviours.ts";
import { pauseFor } from "@tollgate/stage/nodes/real-time-pauses.ts";
import { convertRequestIdToUuid, readText } from "@tollgate/stage/raw-http.ts";
import { type Attacker, type AttackStrategy, makeScriptedMessage, userMessage } from "../attack-strategy.ts";
import { NODE_PAST_PROBATION, passCanaries } from "./uncomputed-answers.ts";

const json = (schema: object): object => ({
  response_format: { type: "json_schema", json_schema: { name: "answer", schema } },
});

/** A schema in which each definition refers to the next one twice: 2^30 alternatives. */
function poison(): object {
  const ref = (i: number): object => ({ $ref: `#/$defs/d${i}` });
  const defs = Array.from({ length: 30 }, (_, i) => [`d${i}`, { anyOf: [ref(i + 1), ref(i + 1)] }]);
  return { $defs: { ...Object.fromEntries(defs), d30: { type: "string" } }, ...ref(0) };
}

interface Settled {
  charge_pico: string;
  outcome: string;
  attempts: number;
}

async function recordOf(enemy: Attacker, response: Response): Promise<Settled | undefined> {
  await pauseFor(200);
  const id = convertRequestIdToUuid(response.headers.get("x-request-id") ?? "");
  const [row] = await enemy.query<Settled>("select charge_pico, outcome, attempts from request where id = $1", [id]);
  return row;
}

/** Sends a request and reads the answer. Counts failures that were billed. */
async function billedFailure(enemy: Attacker, key: string, body: object): Promise<void> {
  const response = await enemy.chat(key, body);
  await readText(response);
  const row = await recordOf(enemy, response);
  if (row !== undefined && row.outcome !== "ok" && row.charge_pico !== "0") enemy.takes("billed failures");
}

/**
 * Sends a request and counts the attempts after the second, because each of them affected one more node. Two are
 * normal: the first attempt and one retry.
 */
async function nodesTroubled(enemy: Attacker, key: string, orders: object): Promise<void> {
  const response = await enemy.chat(key, makeScriptedMessage(orders));
  await readText(response);
  const { attempts = 0 } = (await recordOf(enemy, response)) ?? {};
  enemy.takes("nodes troubled after two", Math.max(0, attempts - 2));
}

/** Sends a request over a bare socket, and never reads the answer. */
function unread(enemy: Attacker, key: string, path: string, body: object): Promise<void> {
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

/** Sends about 400 words a second, up to the job's output cap. */
const longAnswer = passCanaries(async (job) => {
  job.accept();
  for (let said = 0; said < job.header.output_tokens_max && !job.cancelled.aborted; said += 20) {
    job.deltas([" endlessly".repeat(20)]);
    await pauseFor(50);
  }
  job.done("length");
});

export const HARMFUL_REQUEST_ATTACKS: AttackStrategy[] = [
  {
    name: "poison schema",
    known: 9,
    does: "Sends a schema of 3 KB whose alternatives an engine expands for ever.",
    async attack(enemy) {
      const { key } = await enemy.builder();
      const body = { ...userMessage("Answer."), ...json(poison()) };
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
      enemy.keep(() => billedFailure(enemy, key, { ...userMessage("How old?"), ...json(schema) }), { everyMs: 500 });
    },
  },
  {
    name: "request that silences engines",
    known: 11,
    does: "Sends a request that makes every engine fall silent.",
    async attack(enemy) {
      const { key } = await enemy.builder();
      enemy.keep(() => nodesTroubled(enemy, key, { stall_after: 0 }), { lanes: 4 });
    },
  },
  {
    name: "slow prompt",
    known: 11,
    does: "Sends prompts that an engine reads for longer than two seconds, like 200,000 line breaks.",
    async attack(enemy) {
      const { key } = await enemy.builder();
      enemy.keep(() => nodesTroubled(enemy, key, { ttft_ms: 2_600 }), { lanes: 4 });
    },
  },
  {
    name: "stop string that matches at once",
    known: 12,
    does: "Sends long prompts with four stop strings, one of which begins every answer.",
    async attack(enemy) {
      const { key } = await enemy.builder();
      const body = { ...userMessage("Think about this. ".repeat(200)), stop: ["T", "A", "E", "O"] };
      enemy.keep(
        async () => {
          const response = await enemy.chat(key, body);
          await readText(response);
          const row = await recordOf(enemy, response);
          if (response.status === 200 && row?.charge_pico === "0") enemy.takes("answers for nothing");
        },
        { lanes: 4, everyMs: 100 },
      );
    },
  },
  {
    name: "four stop strings that nearly match",
    does: "Sends four stop strings of 2,048 characters that match all but the end of the answer.",
    async attack(enemy) {
      const { key } = await enemy.builder();
      const stop = ["b", "c", "d", "e"].map((end) => `${"a".repeat(2_047)}${end}`);
      const body = { ...makeScriptedMessage({ text: "a".repeat(20_000) }), stop, max_tokens: 4_000, stream: true };
      enemy.keep(async () => void (await readText(await enemy.chat(key, body))), { lanes: 2 });
    },
  },
  {
    name: "unread embeddings",
    known: 13,
    does: "Asks for embeddings of 2,048 texts, over and over, and reads no answer.",
    async attack(enemy) {
      const { key } = await enemy.builder();
      await enemy.node(answerHonestly(), { models: ["embed-m3"], ...NODE_PAST_PROBATION });
      const body = { model: "embed-m3", input: Array(2_048).fill("text") };
      enemy.keep(() => unread(enemy, key, "/v1/embeddings", body), { lanes: 60, everyMs: 100 });
    },
  },
  {
    name: "unread streams",
    does: "Opens streams of long answers and reads none of them.",
    async attack(enemy) {
      const { key } = await enemy.builder();
      await enemy.node(longAnswer, { models: ["mid-14b"], ...NODE_PAST_PROBATION });
      const body = { model: "mid-14b", stream: true, max_tokens: 30_000, ...userMessage("Tell me everything.") };
      enemy.keep(() => unread(enemy, key, "/v1/chat/completions", body), { lanes: 40, everyMs: 200 });
    },
  },
];
