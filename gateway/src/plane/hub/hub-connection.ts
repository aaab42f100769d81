/**
 * One connection to the hub from greeting to end. It waits for CONNECT, then publishes and subscribes within its
 * credential. It ends when the peer leaves, the credential expires or is revoked, pings stay unanswered, the peer stops
 * reading or breaks the protocol, or the hub closes. Then nothing more from the peer is handled, but the socket stays
 * open briefly so that the peer can read the reason.
 */
import type { Socket } from "node:net";
import type { Clock } from "../../base/clock.ts";
import { invariant } from "../../base/invariant.ts";
import type { Log } from "../../base/log.ts";
import type { RateLimitedLog } from "../../base/rate-limited-log.ts";
import type { Claims } from "../credentials/user-jwt.ts";
import { type AcceptedCredentials, authenticate } from "./authenticate.ts";
import { findNetwork } from "./connection-limits.ts";
import { ConnectionOutbox } from "./connection-outbox.ts";
import type { HubLimits } from "./hub-limits.ts";
import type { MessageRouter } from "./message-router.ts";
import { NatsProtocolParser, type ProtocolOperations, ProtocolViolation } from "./protocol-parser.ts";
import { createRateLimit, type RateLimit } from "./rate-limit.ts";
import { explainPublishRefusal, explainSubscribeRefusal, type SubscribeRequest } from "./subject-permissions.ts";

/** The rate limit that a node's connections share, or the reason to refuse this connection. */
export type ConnectionAdmission =
  | RateLimit
  | "too many connections from one node"
  | "node connects too often"
  | "node reconnected too soon after it was disconnected";

/** The functions of the hub that a connection uses. */
export interface HubForConnections {
  clock: Clock;
  log: Log;
  /** A rate-limited log for events that peers can cause without limit. */
  peerLog: RateLimitedLog;
  limits: HubLimits;
  verifier: AcceptedCredentials;
  router: MessageRouter;
  /** Counts the connection toward its node's limits. */
  admit(connection: HubConnection, nodeId: string): ConnectionAdmission;
  /** Called when the connection has ended. */
  ended(connection: HubConnection): void;
  /** Called when the connection has ended and its socket is closed. */
  closed(connection: HubConnection): void;
}

interface Subscription {
  delivered: number;
  deliveredMax: number;
  leave(): void;
}

/** The cost of a refusal toward the rate limit, in operations. */
const REFUSAL_OPERATIONS = 4;
/** The most operations of a chunk per turn of the event loop, because many nodes may send large chunks at once. */
const OPERATIONS_PER_TURN = 256;

const nothingToCancel = (): void => {};

export class HubConnection implements ProtocolOperations {
  readonly #hub: HubForConnections;
  readonly #socket: Socket;
  readonly #nonce: string;
  readonly #peer: string;
  readonly #network: string;
  readonly #parser: NatsProtocolParser;
  readonly #outbox: ConnectionOutbox;
  #rate: RateLimit;
  readonly #subscriptions = new Map<string, Subscription>();
  #claims: Claims | undefined;
  #verbose = false;
  #ended = false;
  /** The latest subject that the credential allowed, as a cache: a node publishes mostly on one subject. */
  #publishable = "";
  /** The extra cost of the pings and refusals in the current chunk, in operations of the rate limit. */
  #surcharge = 0;
  #pingsOutstanding = 0;
  /** Cancels the current timer: first for CONNECT, then for the credential's expiry, then for the peer's close. */
  #cancelDeadline: () => void;
  #cancelPings = nothingToCancel;
  #cancelRest = nothingToCancel;

  constructor(hub: HubForConnections, socket: Socket, nonce: string) {
    this.#hub = hub;
    this.#socket = socket;
    this.#nonce = nonce;
    this.#peer = `${socket.remoteAddress}:${socket.remotePort}`;
    this.#network = findNetwork(socket.remoteAddress);
    this.#parser = new NatsProtocolParser(hub.limits, this);
    this.#outbox = new ConnectionOutbox(socket, hub.limits.outboundBytesMax);
    this.#rate = createRateLimit(hub.limits);
    this.#cancelDeadline = hub.clock.after(hub.limits.connectDeadlineMs, () => this.cut("Authentication Timeout"));
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
    socket.on("end", () => this.#end("the peer closed the connection"));
    socket.on("error", (error) => this.#end(error.message));
    socket.on("close", () => {
      this.#end("the socket closed");
      this.#cancelDeadline();
      hub.closed(this);
    });
  }

  /** The node's ID. Undefined until the connection has authenticated. */
  get nodeId(): string | undefined {
    return this.#claims?.nodeId;
  }

  /** Identifies the peer in log lines: the node, or the network of an unauthenticated peer. */
  get #who(): string {
    return this.nodeId ?? this.#network;
  }

  /** Ends the connection and sends the peer the reason. */
  cut(reason: string): void {
    if (!this.#end(reason)) return;
    this.#outbox.finish();
    this.#socket.end(`-ERR '${reason}'\r\n`, "latin1");
    // Reads and drops data until the peer closes its side or the linger time ends. Closing at once would reset the
    // connection while the peer still writes, and the reason would be lost.
    this.#socket.resume();
  }

  /** Ends the connection without a message, because the hub closes. */
  close(): void {
    this.#end("the hub is closing");
    this.#outbox.finish();
    this.#socket.destroySoon();
  }

  connect(options: string): void {
    const { clock, verifier, log, peerLog, limits } = this.#hub;
    const verdict = authenticate(verifier, options, this.#nonce, clock.now());
    if (!verdict.ok) {
      const { nodeId, refusal } = verdict;
      peerLog.info(this.#who, { peer: this.#peer, nodeId, refusal }, "plane: credential refused");
      this.cut("Authorization Violation");
      return;
    }
    const { claims } = verdict;
    const admission = this.#hub.admit(this, claims.nodeId);
    if (typeof admission === "string") {
      peerLog.warn(claims.nodeId, { peer: this.#peer, nodeId: claims.nodeId }, `plane: ${admission}`);
      this.cut("maximum connections exceeded");
      return;
    }
    this.#rate = admission;
    this.#claims = claims;
    this.#verbose = verdict.verbose;
    this.#parser.limitPayload(claims.payloadBytesMax);
    this.#cancelDeadline();
    const leftMs = claims.expiresAtS * 1000 - clock.now();
    this.#cancelDeadline = clock.after(leftMs, () => this.cut("User Authentication Expired"));
    this.#cancelPings = clock.every(limits.pingEveryMs, () => this.#checkPings());
    log.debug({ peer: this.#peer, nodeId: claims.nodeId }, "plane: node connected");
    this.#ok();
  }

  publish(subject: string, payload: Uint8Array): void {
    if (subject !== this.#publishable) {
      const refusal = explainPublishRefusal(this.#granted(), subject);
      if (refusal !== undefined) {
        this.#refuse(refusal);
        return;
      }
      this.#publishable = subject;
    }
    this.#hub.router.route(subject, payload);
    this.#ok();
  }

  subscribe(ask: SubscribeRequest): void {
    const claims = this.#granted();
    const max = Math.min(this.#hub.limits.subscriptionsMax, claims.subscriptionsMax);
    const known = this.#subscriptions.has(ask.sid);
    const full = this.#subscriptions.size >= max && !known;
    const refusal = explainSubscribeRefusal(claims, ask) ?? (full ? "maximum subscriptions exceeded" : undefined);
    if (refusal !== undefined) {
      this.#refuse(refusal);
      return;
    }
    // Like nats-server, keeps the first subscription of each ID.
    if (!known) this.#addSubscription(ask);
    this.#ok();
  }

  unsubscribe(sid: string, max: number | undefined): void {
    const subscription = this.#subscriptions.get(sid);
    if (subscription !== undefined) {
      subscription.deliveredMax = max ?? 0;
      if (subscription.delivered >= subscription.deliveredMax) this.#removeSubscription(sid);
    }
    this.#ok();
  }

  ping(): void {
    this.#surcharge += this.#hub.limits.pingOperations;
    this.#say("PONG");
  }

  pong(): void {
    this.#pingsOutstanding = 0;
  }

  #read(chunk: Buffer, from = 0): void {
    if (this.#ended) return;
    let operations = 0;
    try {
      operations = this.#parser.push(chunk, from, OPERATIONS_PER_TURN);
    } catch (error) {
      this.#fail(error);
    }
    if (this.#ended) return;
    const { clock } = this.#hub;
    const { position } = this.#parser;
    const restMs = this.#rate.spend(operations + this.#surcharge, position - from, clock.monotonic());
    this.#surcharge = 0;
    const isWhole = position === chunk.length;
    if (isWhole && restMs === 0) {
      if (this.#socket.isPaused()) this.#socket.resume();
      return;
    }
    this.#socket.pause();
    const goOn = isWhole ? () => this.#socket.resume() : () => this.#read(chunk, position);
    if (restMs > 0) this.#cancelRest = clock.after(restMs, goOn);
    else clock.soon(goOn);
  }

  #fail(error: unknown): void {
    const who = { peer: this.#peer, nodeId: this.nodeId };
    if (error instanceof ProtocolViolation) {
      this.#hub.peerLog.info(this.#who, { ...who, violation: error.code }, "plane: protocol violation");
      this.cut(error.message);
      return;
    }
    // A subscriber in the gateway threw, so the node's stream has a gap and its jobs must not continue. Ending the
    // connection fails them in the usual way.
    this.#hub.peerLog.error(this.#who, { ...who, err: error }, "plane: subscriber failed");
    this.cut("Internal Error");
  }

  /** Ends the connection. Returns false if it has ended already. */
  #end(reason: string): boolean {
    if (this.#ended) return false;
    this.#ended = true;
    this.#parser.stop();
    this.#cancelPings();
    this.#cancelRest();
    this.#cancelDeadline();
    // Closes the socket after the linger time, even if the peer neither reads nor closes its side.
    this.#cancelDeadline = this.#hub.clock.after(this.#hub.limits.lingerMs, () => this.#socket.destroy());
    for (const sid of [...this.#subscriptions.keys()]) this.#removeSubscription(sid);
    this.#hub.log.debug({ peer: this.#peer, nodeId: this.nodeId, reason }, "plane: connection closed");
    this.#hub.ended(this);
    return true;
  }

  #checkPings(): void {
    if (this.#pingsOutstanding >= this.#hub.limits.pingsOutstandingMax) {
      this.cut("Stale Connection");
      return;
    }
    this.#pingsOutstanding++;
    this.#say("PING");
  }

  #addSubscription({ pattern, sid }: SubscribeRequest): void {
    const leave = this.#hub.router.add(pattern, (subject, payload, rest) => {
      subscription.delivered++;
      if (subscription.delivered >= subscription.deliveredMax) this.#removeSubscription(sid);
      const bytes = payload.length + (rest?.length ?? 0);
      this.#sent(this.#outbox.message(`MSG ${subject} ${sid} ${bytes}`, payload, rest));
    });
    const subscription: Subscription = { delivered: 0, deliveredMax: Number.POSITIVE_INFINITY, leave };
    this.#subscriptions.set(sid, subscription);
  }

  #removeSubscription(sid: string): void {
    this.#subscriptions.get(sid)?.leave();
    this.#subscriptions.delete(sid);
  }

  #granted(): Claims {
    invariant(this.#claims !== undefined, "the parser admits nothing before CONNECT");
    return this.#claims;
  }

  #refuse(refusal: string): void {
    // Leaves the subject out of the log, because the node chose it: it could contain a prompt.
    const [words = ""] = refusal.split('"', 1);
    const fields = { peer: this.#peer, nodeId: this.nodeId, refusal: words.trimEnd() };
    this.#hub.peerLog.warn(this.#who, fields, "plane: operation refused");
    this.#surcharge += REFUSAL_OPERATIONS;
    this.#say(`-ERR '${refusal}'`);
  }

  #ok(): void {
    if (this.#verbose) this.#say("+OK");
  }

  #say(line: string): void {
    if (!this.#ended) this.#sent(this.#outbox.line(line));
  }

  #sent(withinBounds: boolean): void {
    if (withinBounds) return;
    this.#hub.peerLog.warn(this.#who, { peer: this.#peer, nodeId: this.nodeId }, "plane: slow consumer");
    this.cut("Slow Consumer");
  }
}
