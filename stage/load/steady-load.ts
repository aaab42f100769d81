/** Sends a steady mixed load until it is stopped, and then checks that every answer was complete and charged once. */
import assert from "node:assert/strict";
import type { Platform } from "../dev-platform.ts";
import { assertBalanced, type RequestRecordRow } from "../ledger-check.ts";
import { convertRequestIdToUuid, readText } from "../raw-http.ts";
import { eventually } from "../wait.ts";

interface Asked {
  path: string;
  body?: object;
}

const SCRIPT = `#script ${JSON.stringify({ tokens: 20, delta_ms: 20 })}`;
export const CHAT_REQUEST = {
  path: "/v1/chat/completions",
  body: { model: "tiny-3b", messages: [{ role: "user", content: SCRIPT }] },
};
/**
 * The pause between two requests of one sender, which leaves processor time for the behaviour under test. In
 * milliseconds.
 */
const PAUSE_MS = 100;
/** The requests of the load; two senders repeat each of them. */
const LOAD: Asked[] = [
  CHAT_REQUEST,
  { ...CHAT_REQUEST, body: { ...CHAT_REQUEST.body, stream: true } },
  { ...CHAT_REQUEST, body: { ...CHAT_REQUEST.body, stream: true, stream_options: { include_usage: true } } },
  { path: "/v1/completions", body: { model: "tiny-3b", prompt: "once" } },
  { path: "/v1/embeddings", body: { model: "embed-m3", input: ["one", "two"] } },
  { path: "/v1/models" },
];

/** Returns whether a gateway refused a request and asked for a retry; official clients retry automatically. */
const isToldAgain = ({ status, headers }: Awaited<ReturnType<typeof sendSteadyRequest>>): boolean =>
  status === 503 && headers.get("x-should-retry") === "true" && !headers.has("x-balancer");

export async function sendSteadyRequest(baseUrl: string, key: string, { path, body }: Asked) {
  const response = await fetch(`${baseUrl}${path}`, {
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
  });
  const { status, headers } = response;
  return { status, headers, id: headers.get("x-request-id"), text: await readText(response) };
}

interface SteadyLoad {
  /** Resolves when this many further requests were answered, or one failed. */
  more(count: number): Promise<void>;
  /** Stops the load and compares the clients' answers with the ledger. */
  endsWell(): Promise<void>;
}

/**
 * Starts the load. No other requests may be sent meanwhile, because all later records are attributed to the load. Like
 * official clients, the load retries after a 503 that asks for it.
 */
export async function startSteadyLoad({
  query,
  baseUrl,
  key,
}: Pick<Platform, "query"> & { baseUrl: string; key: string }): Promise<SteadyLoad> {
  const [begun] = await query<{ count: string }>("select count(*) from request");
  const answered = new Map<string, Asked>();
  /** The IDs of refused requests, which were retried. */
  const refused = new Set<string>();
  const errors: string[] = [];
  let isOver = false;
  const lane = async (asked: Asked): Promise<void> => {
    const isStream = asked.body !== undefined && "stream" in asked.body;
    // Ends after an error, and also when a failed test has closed the gateways.
    while (!isOver && errors.length === 0) {
      try {
        const answer = await sendSteadyRequest(baseUrl, key, asked);
        const { status, id, text } = answer;
        const isWhole = !isStream || (text.endsWith("data: [DONE]\n\n") && !text.includes('"error"'));
        if (status === 200 && isWhole) answered.set(id as string, asked);
        else if (isToldAgain(answer)) refused.add(convertRequestIdToUuid(id as string));
        else errors.push(`${asked.path}: ${status} ${id} ${text.slice(-300)}`);
      } catch (error) {
        errors.push(`${asked.path}: ${(error as Error).message} ${(error as Error).cause}`);
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  };
  const lanes = LOAD.flatMap((asked) => [lane(asked), lane(asked)]);
  return {
    async more(count) {
      const due = answered.size + count;
      await eventually("more was answered", () => answered.size >= due || errors.length > 0);
    },
    async endsWell() {
      isOver = true;
      await Promise.all(lanes);
      assert.deepEqual(errors, []);
      await eventually("no hold is left", async () => (await query("select id from hold")).length === 0);
      const records = await query<RequestRecordRow>("select * from request where charge_pico > 0 or outcome <> 'ok'");
      const charged = new Map(records.map((record) => [record.id, record]));
      const paid = [...answered].filter(([, { path }]) => path !== "/v1/models");
      for (const [id] of paid) assert.equal(charged.get(convertRequestIdToUuid(id))?.outcome, "ok", id);
      // A request may be refused because the machine is busy, but not because a gateway stops.
      const lost = records.filter(({ id, outcome }) => refused.has(id) && outcome === "no_capacity");
      const others = records.length - lost.length - Number(begun?.count);
      assert.equal(others, paid.length, "nothing else was charged, and nothing twice");
      await assertBalanced({ query });
    },
  };
}
