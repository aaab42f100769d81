/**
 * Sends requests at a fixed low rate, without waiting for earlier ones. Chats use connections that are kept and
 * replaced now and then; all other requests use a new connection each. Some requests are refused on purpose, because
 * leaks hide in rare code paths.
 */
import { request } from "node:http";
import { type OutgoingRequest, sendAndObserve } from "@tollgate/stage/load/client.ts";
import { describeEnd, type PlannedRequest } from "@tollgate/stage/load/observation.ts";
import { SeededRandom } from "@tollgate/stage/seeded-random.ts";
import { ClientConnection } from "../gateway/client-connection.ts";
import type { PayingAccount, SoakPlatform } from "./soak-platform.ts";

const TICK_MS = 25;
const IN_FLIGHT_MAX = 200;
/** A kept connection is replaced after this many requests. */
const REQUESTS_PER_CONNECTION = 500;
/** The number of different labels on requests; each label has a rollup of its own. */
const LABELS = 50;

interface Kind {
  name: string;
  perSecond: number;
  /** Sends a request and returns the outcome: "ok", or the client's description of the failure. */
  ask: (traffic: SoakTraffic) => Promise<string>;
}

const script = (orders: object): string => `#script ${JSON.stringify(orders)}`;

const KINDS: Kind[] = [
  { name: "chat", perSecond: 22, ask: (traffic) => traffic.chat() },
  { name: "stream of 3 s", perSecond: 3, ask: (traffic) => traffic.stream({ tokens: 30, delta_ms: 100 }) },
  { name: "stream of 45 s", perSecond: 0.3, ask: (traffic) => traffic.stream({ tokens: 450, delta_ms: 100 }) },
  { name: "hang-up", perSecond: 0.5, ask: (traffic) => traffic.stream({ tokens: 200, delta_ms: 50 }, 1_500) },
  { name: "embedding", perSecond: 3, ask: (traffic) => traffic.embed() },
  { name: "completion", perSecond: 1, ask: (traffic) => traffic.complete() },
  { name: "structured", perSecond: 0.3, ask: (traffic) => traffic.structured() },
  { name: "models", perSecond: 1, ask: (traffic) => traffic.get("/v1/models") },
  { name: "site", perSecond: 0.3, ask: (traffic) => traffic.get("/status") },
  { name: "unknown key", perSecond: 1, ask: (traffic) => traffic.unknownKey() },
  { name: "no credit", perSecond: 0.3, ask: (traffic) => traffic.refused({}, "402", traffic.platform.poor) },
  { name: "unknown model", perSecond: 0.2, ask: (traffic) => traffic.refused({ model: "no-such-model" }, "404") },
  { name: "wrong field", perSecond: 0.2, ask: (traffic) => traffic.refused({ temperature: 9 }, "400") },
  { name: "failing engine", perSecond: 0.1, ask: (traffic) => traffic.stream({ tokens: 20, fail_after: 5 }) },
];

/** What the traffic recorded since the last call of `look`. */
interface Seen {
  /** The latencies of chats that were not streamed, in milliseconds. */
  latenciesMs: number[];
  /** The number of requests by kind and outcome, since the start. */
  outcomes: Record<string, number>;
  inFlight: number;
  leftOut: number;
}

export class SoakTraffic {
  readonly platform: SoakPlatform;
  readonly #chance = new SeededRandom("soak");
  readonly #idle: { connection: ClientConnection; asked: number }[] = [];
  readonly #due = KINDS.map(({ perSecond }) => this.#chance.next() / perSecond);
  readonly #outcomes: Record<string, number> = {};
  readonly #inFlight = new Set<Promise<void>>();
  #latenciesMs: number[] = [];
  #leftOut = 0;
  #sent = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(platform: SoakPlatform) {
    this.platform = platform;
  }

  start(): void {
    const begunAt = performance.now();
    this.#timer = setInterval(() => this.#tick((performance.now() - begunAt) / 1000), TICK_MS);
  }

  /** Sends no more requests, and waits for those in flight. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#inFlight);
    for (const { connection } of this.#idle.splice(0)) connection.close();
  }

  look(): Seen {
    const latenciesMs = this.#latenciesMs;
    this.#latenciesMs = [];
    return { latenciesMs, outcomes: this.#outcomes, inFlight: this.#inFlight.size, leftOut: this.#leftOut };
  }

  #tick(seconds: number): void {
    for (const [i, kind] of KINDS.entries()) {
      while ((this.#due[i] as number) <= seconds) {
        this.#due[i] = (this.#due[i] as number) + (0.5 + this.#chance.next()) / kind.perSecond;
        // After a pause, skips the missed requests instead of sending them in a burst.
        if ((this.#due[i] as number) < seconds - 1) this.#due[i] = seconds;
        this.#begin(kind);
      }
    }
  }

  #begin(kind: Kind): void {
    if (this.#inFlight.size >= IN_FLIGHT_MAX) {
      this.#leftOut += 1;
      return;
    }
    const going = kind
      .ask(this)
      .catch((error: Error) => error.message)
      .then((outcome) => this.count(kind.name, outcome))
      .finally(() => this.#inFlight.delete(going));
    this.#inFlight.add(going);
  }

  count(kind: string, outcome: string): void {
    const name = `${kind}: ${outcome}`;
    this.#outcomes[name] = (this.#outcomes[name] ?? 0) + 1;
  }

  async chat(): Promise<string> {
    const kept = this.#idle.pop() ?? { connection: new ClientConnection(this.platform.port), asked: 0 };
    const { connection } = kept;
    if (!connection.isOpen) await connection.open();
    const body = { model: this.#model(), messages: this.#messages(script({ tokens: 30 })), ...this.#label() };
    const answer = await connection.ask(serializeChatRequest(this.#builder(), body));
    kept.asked += 1;
    if (connection.isOpen && kept.asked < REQUESTS_PER_CONNECTION) this.#idle.push(kept);
    else connection.close();
    if (answer.failure !== undefined) return answer.failure;
    this.#latenciesMs.push((answer.endedAtUs - answer.sentAtUs) / 1000);
    return "ok";
  }

  stream(orders: object, hangUpAfterMs: number | null = null): Promise<string> {
    const body = { model: this.#model(), stream: true, messages: this.#messages(script(orders)), ...this.#label() };
    return this.#send("chat", body, { stream: true, hangUpAfterMs });
  }

  embed(): Promise<string> {
    const input = Array.from({ length: this.#chance.between(1, 4) }, () => `text number ${this.#sent++}`);
    return this.#send("embedding", { model: "embed-m3", input });
  }

  complete(): Promise<string> {
    return this.#send("completion", { model: this.#model(), prompt: script({ tokens: 40 }), max_tokens: 60 });
  }

  /** Uses a new schema for each request: the gateway must not keep what it compiled for earlier schemas. */
  structured(): Promise<string> {
    const schema = {
      type: "object",
      properties: { [`field_${this.#sent++}`]: { type: "string" } },
      additionalProperties: false,
    };
    const format = { type: "json_schema", json_schema: { name: "made", schema } };
    const messages = [{ role: "user", content: "Say it as JSON." }];
    return this.#send("chat", { model: this.#model(), messages, response_format: format });
  }

  async refused(wrong: object, wanted: string, payer?: PayingAccount): Promise<string> {
    const body = { model: "tiny-3b", messages: this.#messages("hello"), ...wrong };
    const outcome = await this.#send("chat", body, { payer });
    return outcome.startsWith(wanted) ? "ok" : outcome;
  }

  /** Uses a new client address for each request. */
  unknownKey(): Promise<string> {
    const letters = () => this.#chance.below(36).toString(36);
    const token = `tsk_live_${this.#chance
      .below(2 ** 30)
      .toString(16)
      .padStart(12, "0")}_${Array.from({ length: 43 }, letters).join("")}`;
    const localAddress = `127.${this.#chance.between(1, 250)}.${this.#chance.below(256)}.${this.#chance.between(1, 250)}`;
    return this.#read({ path: "/v1/models", token, localAddress }, 401);
  }

  get(path: string): Promise<string> {
    return this.#read({ path, token: this.#builder().token }, 200);
  }

  #read(
    { path, token, localAddress }: { path: string; token: string; localAddress?: string },
    wanted: number,
  ): Promise<string> {
    return new Promise((resolve) => {
      const asking = request({
        ...{ host: "127.0.0.1", port: this.platform.port, path, localAddress, agent: false },
        headers: { authorization: `Bearer ${token}` },
      });
      asking.on("error", (error) => resolve(error.message));
      asking.on("response", (response) => {
        response.resume().on("end", () => resolve(response.statusCode === wanted ? "ok" : `${response.statusCode}`));
      });
      asking.end();
    });
  }

  #send(
    endpoint: "chat" | "completion" | "embedding",
    body: object,
    {
      payer = this.#builder(),
      ...traits
    }: { payer?: PayingAccount | undefined; stream?: boolean; hangUpAfterMs?: number | null } = {},
  ): Promise<string> {
    const path = { chat: "/v1/chat/completions", completion: "/v1/completions", embedding: "/v1/embeddings" }[endpoint];
    const headers = { authorization: `Bearer ${payer.token}`, "content-type": "application/json" };
    return this.#exchange(
      { ...errandOf(endpoint), ...traits },
      { method: "POST", path, headers, body: JSON.stringify(body) },
    );
  }

  async #exchange(errand: PlannedRequest, sending: Omit<OutgoingRequest, "port">): Promise<string> {
    return describeEnd(await sendAndObserve(errand, { ...sending, port: this.platform.port }, () => performance.now()));
  }

  #messages(content: string): { role: string; content: string }[] {
    return [
      { role: "system", content: `You are helper number ${this.#sent++}.` },
      { role: "user", content },
    ];
  }

  #label(): object {
    return this.#chance.oneIn(10) ? { metadata: { label: `label-${this.#chance.below(LABELS)}` } } : {};
  }

  #builder(): PayingAccount {
    return this.#chance.pick(this.platform.builders);
  }

  #model(): string {
    return this.#chance.oneIn(4) ? "small-7b-alt" : "tiny-3b";
  }
}

const errandOf = (endpoint: PlannedRequest["endpoint"]): PlannedRequest => ({
  ...{ kind: endpoint, endpoint, account: null, model: null, stream: false },
  ...{ cap: null, text: "", hangUpAfterMs: null, isPoor: false },
});

export function serializeChatRequest({ token }: { token: string }, body: object): Buffer {
  const text = JSON.stringify(body);
  const head = [
    "POST /v1/chat/completions HTTP/1.1",
    "host: soak",
    `authorization: Bearer ${token}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(text)}`,
  ];
  return Buffer.from(`${head.join("\r\n")}\r\n\r\n${text}`);
}
