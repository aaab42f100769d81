/**
 * Sends one scenario's requests to one address: as a closed loop, as a fixed number of streams, or alternately to
 * engine and gateway.
 */
import { ClientConnection, type TimedAnswer } from "./client-connection.ts";
import { nowUs } from "./process-resource-usage.ts";
import type { Scenario } from "./scenarios.ts";

/** Connections are opened a few at a time: a burst would overflow the listening sockets' queues. */
const OPENED_AT_ONCE = 50;
const REOPEN_PAUSE_MS = 20;

export interface LoadResult {
  ok: number;
  /** The number of events in successful streams. */
  events: number;
  /** The number of failures by message. */
  errors: Record<string, number>;
  wallUs: number;
  latencyMs: Summary | undefined;
  /** The time to the first byte of the body. */
  ttftMs: Summary | undefined;
  /** The time to the first event with a word: some gateways begin a stream with an event without one. */
  firstWordMs: Summary | undefined;
  /** The time between the engine's write of an event and the load generator's read. */
  relayMs: Summary | undefined;
  /**
   * For requests sent alternately to engine and gateway: the times of the engine's direct answers, and how much longer
   * the answers through the gateway took.
   */
  paired: { direct: Summary | undefined; added: Summary | undefined } | undefined;
}

/**
 * Runs the load. `look` is called right before and right after the measurement, so that the difference of its two
 * results belongs to the load.
 */
export async function runLoad<Sight>(options: {
  address: TargetAddress;
  direct: TargetAddress;
  scenario: Scenario;
  look: () => Promise<Sight>;
  /**
   * Called for every successful answer with the time at which its request was sent and the time at which the answer was
   * complete.
   */
  onAnswer?: ((sentAtUs: number, endedAtUs: number) => void) | undefined;
}): Promise<{ result: LoadResult; before: Sight; after: Sight }> {
  const { address, scenario, look, onAnswer } = options;
  const load = new Load(address, scenario, onAnswer);
  const direct = new ClientConnection(options.direct.port);
  const paired = scenario.mode === "paired";
  await load.connect();
  if (paired) await direct.open();
  const before = await look();
  const startedAt = nowUs();
  const giveUp = setTimeout(() => load.abort(), scenario.secondsMax * 1000);
  if (paired) await load.alternate(direct, requestsFor(options.direct, scenario));
  else await load.repeat();
  clearTimeout(giveUp);
  const wallUs = nowUs() - startedAt;
  const after = await look();
  load.close();
  direct.close();
  return { result: load.result(wallUs), before, after };
}

class Load {
  readonly #scenario: Scenario;
  readonly #connections: ClientConnection[];
  readonly #next: () => Buffer;
  readonly #latencies: number[] = [];
  readonly #firstBytes: number[] = [];
  readonly #firstWords: number[] = [];
  readonly #stamps: number[] = [];
  readonly #directTimes: number[] = [];
  readonly #added: number[] = [];
  readonly #errors: Record<string, number> = {};
  #begun = 0;
  #events = 0;
  #aborted = false;
  readonly #freshConnections: boolean;
  readonly #onAnswer: ((sentAtUs: number, endedAtUs: number) => void) | undefined;

  constructor(address: TargetAddress, scenario: Scenario, onAnswer?: (sentAtUs: number, endedAtUs: number) => void) {
    this.#scenario = scenario;
    this.#onAnswer = onAnswer;
    this.#next = requestsFor(address, scenario);
    this.#freshConnections = address.freshConnections ?? false;
    const onStamp = scenario.stream && scenario.delayMs > 0 ? (ageUs: number) => this.#stamps.push(ageUs) : undefined;
    this.#connections = Array.from({ length: scenario.concurrent }, () => new ClientConnection(address.port, onStamp));
  }

  async connect(): Promise<void> {
    for (let at = 0; at < this.#connections.length; at += OPENED_AT_ONCE) {
      await Promise.all(this.#connections.slice(at, at + OPENED_AT_ONCE).map((connection) => connection.open()));
    }
  }

  /**
   * Every connection sends its next request as soon as the last one is answered, until the time or the number of
   * requests is reached.
   */
  async repeat(): Promise<void> {
    const { seconds, total, rampMs } = this.#scenario;
    const until = seconds === undefined ? Number.POSITIVE_INFINITY : nowUs() + seconds * 1e6;
    const count = this.#connections.length;
    await Promise.all(
      this.#connections.map(async (connection, n) => {
        if (rampMs > 0) await pause((rampMs * n) / count);
        while (!this.#aborted && nowUs() < until && this.#begun < (total ?? Number.POSITIVE_INFINITY)) {
          this.#begun++;
          if (!(await this.#reopened(connection))) continue;
          this.#record(await connection.ask(this.#next()));
          if (this.#freshConnections) connection.close();
        }
      }),
    );
  }

  /** Sends one request at a time, alternately to the engine and the gateway, so that disturbances affect both. */
  async alternate(direct: ClientConnection, nextDirect: () => Buffer): Promise<void> {
    const until = nowUs() + (this.#scenario.seconds ?? 0) * 1e6;
    const [through] = this.#connections;
    for (let n = 0; through !== undefined && !this.#aborted && nowUs() < until; n++) {
      if (!(await this.#reopened(through))) continue;
      const first = n % 2 === 0 ? await direct.ask(nextDirect()) : undefined;
      const answer = await through.ask(this.#next());
      const plain = first ?? (await direct.ask(nextDirect()));
      if (!this.#record(answer)) continue;
      this.#directTimes.push(took(plain));
      this.#added.push(took(answer) - took(plain));
    }
  }

  abort(): void {
    this.#aborted = true;
    for (const connection of this.#connections) connection.abort();
  }

  close(): void {
    for (const connection of this.#connections) connection.close();
  }

  result(wallUs: number): LoadResult {
    const paired = { direct: summary(this.#directTimes), added: summary(this.#added) };
    return {
      ok: this.#latencies.length,
      events: this.#events,
      errors: this.#errors,
      wallUs,
      latencyMs: summary(this.#latencies),
      ttftMs: this.#scenario.stream ? summary(this.#firstBytes) : undefined,
      firstWordMs: this.#scenario.stream ? summary(this.#firstWords) : undefined,
      relayMs: summary(this.#stamps),
      paired: this.#scenario.mode === "paired" ? paired : undefined,
    };
  }

  async #reopened(connection: ClientConnection): Promise<boolean> {
    if (connection.isOpen) return true;
    try {
      await connection.open();
      return true;
    } catch (error) {
      this.#count((error as NodeJS.ErrnoException).code ?? String(error));
      await pause(REOPEN_PAUSE_MS);
      return false;
    }
  }

  /**
   * Returns whether the answer was complete. An incomplete answer must not count as a fast one. Fewer events than
   * tokens are fine: a gateway may join words that arrived together.
   */
  #record(answer: TimedAnswer): boolean {
    const { stream, tokens, eventsMin = tokens } = this.#scenario;
    const said = Math.max(answer.events, answer.blanks - answer.events);
    const short = stream && (said < eventsMin || !answer.done);
    const failure = answer.failure ?? (short ? "short stream" : undefined);
    if (failure !== undefined) {
      this.#count(failure);
      return false;
    }
    this.#onAnswer?.(answer.sentAtUs, answer.endedAtUs);
    this.#latencies.push(took(answer));
    this.#events += answer.events;
    this.#firstBytes.push(answer.firstByteAtUs - answer.sentAtUs);
    if (stream && answer.firstWordAtUs > 0) this.#firstWords.push(answer.firstWordAtUs - answer.sentAtUs);
    return true;
  }

  #count(failure: string): void {
    this.#errors[failure] = (this.#errors[failure] ?? 0) + 1;
  }
}

const took = ({ sentAtUs, endedAtUs }: TimedAnswer): number => endedAtUs - sentAtUs;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const TEMPLATES = 8;
const NUMBER = "number 000000000000 ";
const WORDS = (
  "time person year way day thing man world life hand part child eye woman place work week case point government " +
  "company number group problem fact be have do say get make go know take see come think look want give use find tell " +
  "ask seem feel try leave call good new first last long great little own other old right big high quantization " +
  'entropy "ledger" prepaid_balance idempotent naïve Zürich 3.14159 {json} https://example.com/a?b=1 throughput\n'
).split(" ");

/** Where requests are sent, and with which credentials and model names. */
export interface TargetAddress {
  port: number;
  models: { chat: string; embedding: string };
  headers: Record<string, string>;
  /**
   * Opens a new connection for each request: for a server that closes a connection after an answer without announcing
   * it.
   */
  freshConnections?: boolean;
}

/**
 * Returns the bytes of a scenario's next request, serialised in advance. Every prompt contains its own number, so that
 * no cache can answer it.
 */
function requestsFor(address: TargetAddress, scenario: Scenario): () => Buffer {
  const templates = Array.from({ length: TEMPLATES }, (_, i) => {
    const bytes = serialise(address, scenario, promptsOf(scenario, 7919 * (i + 1)));
    return { bytes, at: bytes.indexOf(NUMBER) + NUMBER.indexOf("0") };
  });
  let next = Math.floor(Math.random() * 1e9) * 100;
  return () => {
    const template = templates[next % TEMPLATES] as (typeof templates)[number];
    const bytes = Buffer.from(template.bytes);
    bytes.write(String(next++ % 1e12).padStart(12, "0"), template.at, "latin1");
    return bytes;
  };
}

/** The messages of a prompt. The number that makes each prompt unique is in the last message. */
function promptsOf({ promptBytes, messages }: Scenario, seed: number): string[] {
  const bytes = Math.floor(promptBytes / messages);
  const before = Array.from({ length: messages - 1 }, (_, i) => prose(bytes, seed + i + 1));
  return [...before, NUMBER + prose(bytes - NUMBER.length, seed)];
}

function serialise({ port, models, headers }: TargetAddress, scenario: Scenario, prompts: string[]): Buffer {
  const body = Buffer.from(JSON.stringify(bodyOf(models, scenario, prompts)));
  const lines = [
    `POST /v1/${scenario.endpoint === "embeddings" ? "embeddings" : "chat/completions"} HTTP/1.1`,
    `host: 127.0.0.1:${port}`,
    "content-type: application/json",
    `accept: ${scenario.stream ? "text/event-stream" : "application/json"}`,
    "user-agent: bench/1",
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    `content-length: ${body.length}`,
  ];
  return Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`), body]);
}

function bodyOf(
  models: TargetAddress["models"],
  { endpoint, tokens, stream, toTheCap }: Scenario,
  prompts: string[],
): object {
  if (endpoint === "embeddings") return { model: models.embedding, input: prompts.join("") };
  return {
    model: models.chat,
    messages: [
      { role: "system", content: "You are a helpful assistant." },
      ...prompts.map((content, i) => ({ role: (prompts.length - i) % 2 === 1 ? "user" : "assistant", content })),
    ],
    // The number of words is set in the fake engine. The limit here is higher, so that a gateway that counts tokens
    // does not cut a stream because of the timestamps in it.
    max_tokens: toTheCap ? tokens : 4 * tokens,
    temperature: 0.7,
    ...(stream ? { stream: true } : {}),
  };
}

/** Returns pseudo-random text of about this many bytes. */
function prose(bytes: number, seed: number): string {
  let state = seed;
  let text = "";
  while (text.length < bytes) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    text += `${WORDS[state % WORDS.length]} `;
  }
  return text.slice(0, bytes);
}

/** Statistics of times, in milliseconds. */
interface Summary {
  count: number;
  p50: number;
  p95: number;
  p99: number;
  max: number;
}

/** Returns undefined if nothing was measured. */
function summary(timesUs: readonly number[]): Summary | undefined {
  if (timesUs.length === 0) return undefined;
  const sorted = Float64Array.from(timesUs).sort();
  const at = (share: number): number =>
    (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] as number) / 1000;
  return { count: sorted.length, p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) };
}
