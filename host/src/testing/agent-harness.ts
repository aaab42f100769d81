/** Test helper: an agent on an in-memory plane, with functions that act as its gateway. */
import { encodeFrame } from "@tollgate/protocol/frame-codec.ts";
import type { JobBody, JobHeader, NodeState } from "@tollgate/protocol/frames.ts";
import { nodeStateSubject, nodeSubject } from "@tollgate/protocol/nats-subjects.ts";
import pino from "pino";
import { Agent, type AgentStatus } from "../agent/agent.ts";
import type { PlaneCredentials } from "../agent/plane-connection.ts";
import type { Clock } from "../clock.ts";
import type { Engine } from "../engines/engine.ts";
import { FrameFaultInjector } from "../engines/frame-fault-injector.ts";
import { scriptedEngine } from "../engines/scripted-engine.ts";
import { ManualClock } from "./manual-clock.ts";
import { MemoryPlane } from "./memory-plane.ts";

export const TEST_NODE_ID = "node_test";
export const CREDENTIAL_LIFETIME_MS = 3_600_000;

export class AgentHarness {
  readonly clock = new ManualClock();
  readonly plane = new MemoryPlane();
  readonly statuses: AgentStatus[] = [];
  readonly agent: Agent;
  readonly engine: Engine;
  /** The number of credential requests so far. The n-th credentials contain `jwt-n`. */
  issued = 0;
  /** The plane's address in credentials. */
  planeUrl = "nats://plane";
  /** Errors that the next credential requests fail with. */
  readonly credentialFailures: Error[] = [];
  /** Everything that the agent has logged. */
  logged = "";
  readonly #statusChanged = Promise.withResolvers<void>();
  #jobs = 0;

  /** `clock`: pass the real clock for an engine that does real work. */
  constructor(options: { slots?: number; models?: string[]; engine?: Engine; clock?: Clock } = {}) {
    const models = options.models ?? ["tiny-3b", "embed-m3"];
    const faults = new FrameFaultInjector();
    this.engine = options.engine ?? scriptedEngine({ models, slots: options.slots ?? 2, clock: this.clock, faults });
    this.agent = new Agent({
      node: TEST_NODE_ID,
      version: "tollgate-host/test",
      engine: this.engine,
      models,
      credentials: () => this.#credentials(),
      dial: faults.decorate(this.plane.dial),
      clock: options.clock ?? this.clock,
      log: pino({ level: "trace" }, { write: (line: string) => this.#log(line) }),
      status: (status) => {
        this.statuses.push(status);
        this.#statusChanged.resolve();
      },
      random: () => 1,
    });
  }

  #log(line: string): void {
    this.logged += line;
  }

  async #credentials(): Promise<PlaneCredentials> {
    this.issued++;
    const failure = this.credentialFailures.shift();
    if (failure !== undefined) throw failure;
    return {
      url: this.planeUrl,
      jwt: `jwt-${this.issued}`,
      seed: "S",
      expiresAt: this.clock.now() + CREDENTIAL_LIFETIME_MS,
    };
  }

  /** Starts the agent and waits until it is online. */
  async online(): Promise<void> {
    this.agent.start();
    await this.#statusChanged.promise;
  }

  /** Every state the node published. */
  states(): NodeState[] {
    return this.plane.heard.flatMap(({ subject, frame }) =>
      subject === nodeStateSubject(TEST_NODE_ID) && frame?.kind === "state" ? [frame.state] : [],
    );
  }

  /** Offers a job and returns its id. */
  offer(body: JobBody | string, rest: Partial<JobHeader> = {}): string {
    const id = rest.job ?? `${String(++this.#jobs).padStart(26, "0")}-01`;
    const chat = typeof body === "string" ? { messages: [{ role: "user", content: body }] } : body;
    const endpoint = "messages" in chat ? "chat" : "prompt" in chat ? "completion" : "embedding";
    this.plane.sendJob(
      nodeSubject(TEST_NODE_ID),
      {
        job: id,
        gateway: "gw1",
        model: endpoint === "embedding" ? "embed-m3" : "tiny-3b",
        endpoint,
        stream: true,
        output_tokens_max: 1000,
        sampling: {},
        ...rest,
      },
      chat,
    );
    return id;
  }

  script(script: object, rest: Partial<JobHeader> = {}): string {
    return this.offer(`#script ${JSON.stringify(script)}`, rest);
  }

  cancel(job: string): void {
    this.plane.send(nodeSubject(TEST_NODE_ID), encodeFrame({ kind: "cancel", job }));
  }

  text(job: string): string {
    return this.plane
      .of(job)
      .flatMap((frame) =>
        frame.kind === "deltas" || frame.kind === "timed" ? frame.deltas.map((delta) => delta.text) : [],
      )
      .join("");
  }

  kinds(job: string): string[] {
    return this.plane.of(job).map((frame) => frame.kind);
  }
}
