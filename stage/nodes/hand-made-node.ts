/**
 * A hand-made node: a node with real credentials and a real NATS client, whose engine is a function of the test. The
 * function answers each job as the test needs.
 *
 * `enrol` alone is for tests that speak the protocol over a socket of their own.
 */

import { connect, jwtAuthenticator, type NatsConnection } from "@nats-io/transport-node";
import { decodeFrame, encodeFrame } from "../../protocol/src/frame-codec.ts";
import type { FailedFrame, Frame, JobBody, JobHeader, NodeState } from "../../protocol/src/frames.ts";
import { JobJoiner } from "../../protocol/src/job-splitting.ts";
import {
  gatewaySubject,
  nodeStateSubject,
  nodeSubject,
  STATE_REQUEST_SUBJECT,
} from "../../protocol/src/nats-subjects.ts";
import type { Stage } from "../base-stage.ts";
import type { HostAccount } from "../builder-and-host-accounts.ts";
import { eventually } from "../wait.ts";
import { type CanaryAnswers, findKnownAnswer } from "./known-answers.ts";
import { repeatEvery } from "./real-time-pauses.ts";

/** The platform that the node joins, with the function that reads its earnings. */
type Platform = Pick<Stage, "baseUrl" | "balance"> & CanaryAnswers;

const REPORT_EVERY_MS = 3_000;
const SLOTS = 64;

export type Behaviour = (job: HandMadeJob) => void | Promise<void>;

export interface Credentials {
  url: string;
  jwt: string;
  seed: string;
  expiresAt: number;
}

interface ApiAnswer<T> {
  status: number;
  body: T & { error?: { code?: string; message: string; param?: string } };
}

export async function callNodeApi<T = Record<string, unknown>>(
  stage: Pick<Stage, "baseUrl">,
  token: string,
  method: string,
  path: string,
  body?: object,
): Promise<ApiAnswer<T>> {
  const response = await fetch(`${stage.baseUrl}/node/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as ApiAnswer<T>["body"] };
}

async function must<T>(answer: Promise<ApiAnswer<T>>): Promise<T> {
  const { status, body } = await answer;
  if (status !== 200) throw new Error(`the node API answered ${status}: ${JSON.stringify(body)}`);
  return body;
}

/** The data with which a node is registered. */
export interface NodeRegistration {
  name: string;
  models: string[];
  hardware?: object;
  agent?: string;
}

/** Registers a node, chooses its models and gets its credentials. */
export async function enrolNode(
  stage: Pick<Stage, "baseUrl">,
  { token }: Pick<HostAccount, "token">,
  { name, models, hardware = {}, agent = "handmade" }: NodeRegistration,
): Promise<{ id: string; credentials: Credentials }> {
  const { id } = await must(callNodeApi<{ id: string }>(stage, token, "POST", "/nodes", { name, hardware, agent }));
  await must(callNodeApi(stage, token, "PUT", `/nodes/${id}/elections`, { models }));
  return { id, credentials: await fetchCredentials(stage, { token }, id) };
}

export async function fetchCredentials(
  stage: Pick<Stage, "baseUrl">,
  { token }: Pick<HostAccount, "token">,
  id: string,
): Promise<Credentials> {
  type Minted = { plane_url: string; jwt: string; seed: string; expires_at: number };
  const minted = await must(callNodeApi<Minted>(stage, token, "POST", `/nodes/${id}/credentials`));
  return { url: minted.plane_url, jwt: minted.jwt, seed: minted.seed, expiresAt: minted.expires_at * 1000 };
}

export const connectToPlane = ({ url, jwt, seed }: Omit<Credentials, "expiresAt">): Promise<NatsConnection> =>
  connect({ servers: url, authenticator: jwtAuthenticator(jwt, Buffer.from(seed)), reconnect: false });

/** The behaviour of a hand-made node, and the state that it reports. */
export interface HandMadeNodeOptions extends NodeRegistration {
  behaviour: Behaviour;
  /**
   * Called for a job whose body arrives only after the job is accepted; `body` is empty then. Default: accepts the job.
   */
  early?: Behaviour;
  /** Values in the node's state frames that replace the true ones. */
  claims?: Partial<NodeState>;
  /** If false, `join` does not wait until the node is online. */
  waits?: boolean;
}

/** A job of the node, with functions to answer it correctly or wrongly. */
export class HandMadeJob {
  readonly header: JobHeader;
  readonly body: JobBody;
  /** Aborted when the gateway cancels the job. */
  readonly cancelled: AbortSignal;
  /** The right answer, if the job is a canary (a question with a known answer). */
  readonly known: string | undefined;
  /** The number of the next output frame. */
  seq = 0;
  /** Whether the job was accepted before its body arrived, so that `accept` sends nothing. */
  isAccepted = false;
  readonly #send: (bytes: Uint8Array) => void;

  constructor(
    { header, body, known }: Pick<HandMadeJob, "header" | "body" | "known">,
    cancelled: AbortSignal,
    send: (bytes: Uint8Array) => void,
  ) {
    this.header = header;
    this.body = body;
    this.known = known;
    this.cancelled = cancelled;
    this.#send = send;
  }

  /** Returns the last message, the prompt of a completion, or the first text to embed. */
  get prompt(): string {
    if ("messages" in this.body) return this.body.messages.at(-1)?.content ?? "";
    return "prompt" in this.body ? this.body.prompt : (this.body.input[0] ?? "");
  }

  say(frame: Exclude<Frame, { kind: "unknown" }>): void {
    this.#send(encodeFrame(frame));
  }

  raw(bytes: Uint8Array): void {
    this.#send(bytes);
  }

  /** Accepts the job. Sends nothing if the job had to be accepted before its body arrived. */
  accept(): void {
    if (!this.isAccepted) this.say({ kind: "accepted", job: this.header.job });
  }

  /** Sends all texts in one frame. */
  deltas(texts: string[]): void {
    const { job } = this.header;
    this.say({ kind: "deltas", deltas: texts.map((text) => ({ job, seq: this.seq++, channel: "answer", text })) });
  }

  vectors(first: number, vectors: Float32Array[]): void {
    const width = vectors[0]?.length ?? 0;
    const values = Float32Array.from(vectors.flatMap((vector) => [...vector]));
    this.say({ kind: "vectors", job: this.header.job, seq: this.seq++, first, width, values });
  }

  done(finish: "stop" | "length" = "stop"): void {
    this.say({ kind: "done", job: this.header.job, seq: this.seq++, finish });
  }

  failed(cause: FailedFrame["cause"], message: string): void {
    this.say({ kind: "failed", job: this.header.job, seq: this.seq++, cause, message });
  }
}

export class HandMadeNode {
  readonly id: string;
  readonly host: HostAccount;
  readonly line: NatsConnection;
  /** The prompts of all jobs, including the platform's own probes. */
  readonly prompts: string[] = [];
  readonly #stage: Platform;
  readonly #manners: HandMadeNodeOptions;
  readonly #joining = new Map<string, JobJoiner>();
  readonly #running = new Map<string, AbortController>();
  /** Jobs that were accepted before their bodies arrived. */
  readonly #accepted = new Set<string>();
  readonly #stopReports: () => void;

  /**
   * Joins the platform and waits until it reports that the node is online or barred (on a busy machine the test may not
   * see it online). With `waits: false`, waits only until the node has sent its state.
   */
  static async join(stage: Platform, host: HostAccount, traits: HandMadeNodeOptions): Promise<HandMadeNode> {
    const { id, credentials } = await enrolNode(stage, host, traits);
    const node = new HandMadeNode(stage, host, id, await connectToPlane(credentials), traits);
    await node.line.flush();
    const isIn = async (): Promise<boolean> => ["online", "quarantined"].includes(await node.state());
    if (traits.waits !== false) await eventually(`${traits.name} is online`, isIn);
    return node;
  }

  private constructor(
    stage: Platform,
    host: HostAccount,
    id: string,
    line: NatsConnection,
    manners: HandMadeNodeOptions,
  ) {
    this.#stage = stage;
    this.host = host;
    this.id = id;
    this.line = line;
    this.#manners = manners;
    line.subscribe(nodeSubject(id), { callback: (_error, { data }) => this.#hear(decodeFrame(data)) });
    line.subscribe(STATE_REQUEST_SUBJECT, { callback: () => this.report() });
    this.report();
    this.#stopReports = repeatEvery(REPORT_EVERY_MS, () => this.report());
    void line.closed().then(this.#stopReports);
  }

  report(): void {
    const { models, claims } = this.#manners;
    if (!this.line.isClosed())
      this.line.publish(nodeStateSubject(this.id), encodeStateFrame({ models, busy: this.#running.size, ...claims }));
  }

  async state(): Promise<string> {
    return (await callNodeApi<{ state: string }>(this.#stage, this.host.token, "GET", `/nodes/${this.id}`)).body.state;
  }

  async is(state: string): Promise<boolean> {
    return (await this.state()) === state;
  }

  /** Returns the earnings of the node's host, which has no other node. */
  earned(): Promise<bigint> {
    return this.#stage.balance(this.host.account);
  }

  async leave(): Promise<void> {
    this.#stopReports();
    for (const job of this.#running.values()) job.abort();
    await this.line.close();
  }

  #hear(frame: Frame): void {
    if (frame.kind === "cancel") this.#running.get(frame.job)?.abort();
    if (frame.kind === "job") {
      const joiner = new JobJoiner(frame);
      this.#joining.set(frame.header.job, joiner);
      if (!joiner.complete && frame.piece.length === 0) this.#meet(frame.header);
      this.#begin(joiner);
    }
    if (frame.kind === "piece") {
      const joiner = this.#joining.get(frame.job);
      joiner?.add(frame);
      if (joiner !== undefined) this.#begin(joiner);
    }
  }

  /** Handles the first frame of a job that comes in several parts: this frame contains no body. */
  #meet(header: JobHeader): void {
    const { early = (job: HandMadeJob) => job.accept() } = this.#manners;
    this.#accepted.add(header.job);
    void early(this.#job(header, { messages: [] }, new AbortController().signal));
  }

  #begin(joiner: JobJoiner): void {
    if (!joiner.complete) return;
    const { header } = joiner;
    this.#joining.delete(header.job);
    const cancelled = new AbortController();
    this.#running.set(header.job, cancelled);
    const job = this.#job(header, joiner.body(), cancelled.signal);
    job.isAccepted = this.#accepted.delete(header.job);
    this.prompts.push(job.prompt);
    void Promise.resolve(this.#manners.behaviour(job)).finally(() => this.#running.delete(header.job));
  }

  #job(header: JobHeader, body: JobBody, cancelled: AbortSignal): HandMadeJob {
    return new HandMadeJob({ header, body, known: this.#answerTo(body) }, cancelled, (bytes) => {
      if (!this.line.isClosed()) this.line.publish(gatewaySubject(header.gateway, this.id), bytes);
    });
  }

  #answerTo(body: JobBody): string | undefined {
    if ("messages" in body) return findKnownAnswer(this.#stage, body.messages);
    return "prompt" in body ? findKnownAnswer(this.#stage, [{ content: body.prompt }]) : undefined;
  }
}

export function encodeStateFrame(state: Partial<NodeState>): Uint8Array {
  return encodeFrame({
    kind: "state",
    state: {
      protocol: "1.0",
      agent: "handmade",
      slots: SLOTS,
      busy: 0,
      models: [],
      accepts_early: true,
      draining: false,
      ...state,
    },
  });
}
