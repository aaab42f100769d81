/**
 * Assembles the parts of a gateway between the dispatch plane and the client's reply, with the real roster, dispatcher,
 * relay and meter, and one fake node.
 */
import { gatewaySubject, nodeStateSubject } from "@tollgate/protocol/nats-subjects.ts";
import { systemClock } from "../../gateway/src/base/clock.ts";
import type { Uuid } from "../../gateway/src/base/ids.ts";
import { createLog } from "../../gateway/src/base/log.ts";
import { systemRandom } from "../../gateway/src/base/random.ts";
import { type Dispatcher, openDispatcher } from "../../gateway/src/dispatch/dispatcher.ts";
import { Roster } from "../../gateway/src/dispatch/roster.ts";
import { FakeNode, MemoryPlane } from "../../gateway/src/dispatch/testing.ts";
import type { Reply } from "../../gateway/src/inference/call-interface.ts";
import { DeltaJoiner } from "../../gateway/src/inference/delta-joiner.ts";
import { Relay } from "../../gateway/src/inference/relay.ts";
import type { ActiveModel } from "../../gateway/src/metering/catalogue.ts";
import type { TokenMetering } from "../../gateway/src/metering/metering.ts";
import { chat } from "../../gateway/src/routes/openai/chat.ts";

const GATEWAY = "gw1";
const NODE = "node_1";

export interface JobOptions {
  model: string;
  cap: number;
  stream?: boolean;
  vectorsDue?: number;
  stop?: string[];
}

export class GatewayUnderTest {
  readonly #metering: TokenMetering;
  readonly #models: ReadonlyMap<string, ActiveModel>;
  readonly #plane = new MemoryPlane();
  readonly #roster: Roster;
  readonly #dispatcher: Dispatcher;
  readonly #node: FakeNode;
  #jobs = 0;
  /** How long the gateway took to process each frame, in milliseconds. */
  readonly frameMs: number[] = [];

  constructor(metering: TokenMetering, models: ReadonlyMap<string, ActiveModel>) {
    this.#metering = metering;
    this.#models = models;
    const log = createLog("silent");
    const nodeRecord = async () => ({ nodeId: "n" as Uuid, hostAccountId: "h" as Uuid, models: [...models.keys()] });
    this.#roster = new Roster({ plane: this.#plane, clock: systemClock, random: systemRandom(), log, nodeRecord });
    this.#dispatcher = openDispatcher({
      plane: this.#plane,
      roster: this.#roster,
      clock: systemClock,
      log,
      gatewayId: GATEWAY,
      deadlineMs: 1000,
    });
    this.#node = new FakeNode(this.#plane, { id: NODE, gatewayId: GATEWAY });
  }

  /** Offers a job to the node and makes the node accept it. */
  async job(options: JobOptions): Promise<{ id: string; relay: Relay }> {
    this.#node.report({ models: [...this.#models.keys()], slots: 4096 });
    await new Promise(setImmediate);
    const model = this.#models.get(options.model) as ActiveModel;
    const meter = this.#metering.meter(model.build.tokenizer);
    if (meter === undefined) throw new Error(`no meter for ${model.id}`);
    const writer = chat.stream?.({ suffix: "x", created: 0, model: model.id }, { includeUsage: false });
    const { stop = [], stream = true, cap, vectorsDue = 0 } = options;
    const relay = new Relay({
      model,
      endpoint: "chat",
      meter,
      outputTokensMax: cap,
      vectorsDue,
      stream:
        stream && writer !== undefined
          ? new DeltaJoiner({ writer, reply: joiningReply(), clock: systemClock, perSecondMax: model.speedMax })
          : null,
      stop,
    });
    const request = String(++this.#jobs).padStart(26, "0");
    const header = { model: model.id, endpoint: "chat", stream, output_tokens_max: cap, sampling: {} } as const;
    const order = { request, header, body: { messages: [] } };
    void this.#dispatcher.run(order, relay, new AbortController().signal);
    const id = await this.#node.job(this.#jobs);
    this.#node.say({ kind: "accepted", job: id });
    return { id, relay };
  }

  /** Publishes a frame as the node, and measures how long the gateway takes to process it. */
  hear(bytes: Uint8Array): void {
    this.timed(() => this.#plane.publish(gatewaySubject(GATEWAY, NODE), bytes));
  }

  hearState(bytes: Uint8Array): void {
    this.timed(() => this.#plane.publish(nodeStateSubject(NODE), bytes));
  }

  timed(work: () => void): void {
    const start = performance.now();
    work();
    this.frameMs.push(performance.now() - start);
  }

  close(): void {
    this.#dispatcher.close();
    this.#roster.close();
  }
}

/** Creates a reply that joins the events of one turn of the event loop, as HttpReply does. */
function joiningReply(): Reply {
  let pending = "";
  const flush = (): void => {
    Buffer.byteLength(pending);
    pending = "";
  };
  return {
    setHeaders: () => {},
    json: () => {},
    openStream: () => {},
    endStream: () => {},
    failStream: () => {},
    event: (data) => {
      if (pending === "") queueMicrotask(flush);
      pending += `data: ${data}\n\n`;
    },
  };
}
