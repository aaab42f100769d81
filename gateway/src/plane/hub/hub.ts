/**
 * The embedded dispatch plane: a hub inside the gateway that speaks the part of the NATS protocol that agents use. The
 * gateway publishes and subscribes by function call; nodes connect by TCP with ordinary NATS clients.
 */
import { createServer, isIPv6, type Server, type Socket } from "node:net";
import { createSecureContext, type SecureContext, TLSSocket } from "node:tls";
import type { Certificate } from "../../base/certificate.ts";
import type { Clock } from "../../base/clock.ts";
import { CONNECTION_QUEUE_MAX } from "../../base/connection-queue.ts";
import { createReachableDependency } from "../../base/dependency.ts";
import { invariant } from "../../base/invariant.ts";
import { ListenError } from "../../base/listen-error.ts";
import type { Log } from "../../base/log.ts";
import type { Random } from "../../base/random.ts";
import { type RateLimitedLog, rateLimitedLog } from "../../base/rate-limited-log.ts";
import { createKey, keyFromSeed, parsePublicKey, type SigningKey, type VerifyingKey } from "../credentials/nkeys.ts";
import { CREDENTIAL_TTL_MS, checkTtl, issueNodeCredentials } from "../credentials/node-credentials.ts";
import { isNodeId } from "../credentials/user-jwt.ts";
import { concatPayloadParts, type DispatchPlane, type NodeCredentials } from "../plane.ts";
import { ReconnectBackoff } from "../reconnect-backoff.ts";
import { isSubject } from "../subject-patterns.ts";
import type { AcceptedCredentials } from "./authenticate.ts";
import { ConnectionLimits } from "./connection-limits.ts";
import { type ConnectionAdmission, HubConnection, type HubForConnections } from "./hub-connection.ts";
import { HUB_LIMITS, type HubLimits } from "./hub-limits.ts";
import { createMessageRouter } from "./message-router.ts";
import { NodeRateLimits } from "./node-rate-limits.ts";
import { createMemoryRevocations } from "./revocations.ts";

/** The reported NATS version, by which clients choose features. */
const NATS_VERSION = "2.10.0";

export interface HubOptions {
  host: string;
  /** The port. 0: any free port. */
  port: number;
  /**
   * The seed of the key that signs credentials. The caller stores it so that credentials survive a restart. Absent: a
   * new one.
   */
  accountSeed?: string;
  /** The previous seed. Its credentials stay valid until they expire. */
  oldAccountSeed?: string;
  clock: Clock;
  random: Random;
  log: Log;
  credentialTtlMs?: number;
  /** The address that agents connect to. Absent: host and port. */
  publicUrl?: string;
  /** The certificate in PEM. With one, every connection must upgrade to TLS. */
  tls?: Certificate;
  limits?: Partial<HubLimits>;
}

export interface Hub extends DispatchPlane {
  port: number;
  url: string;
  /** The seed in use. It is a secret. */
  accountSeed: string;
  /** Replaces the certificate for new connections. */
  renewCertificate(tls: Certificate): void;
}

/** Throws an error with host and port if the hub cannot listen there. */
export async function openHub(options: HubOptions): Promise<Hub> {
  const hub = new EmbeddedHub(options);
  await hub.listen();
  return hub;
}

class EmbeddedHub implements Hub, HubForConnections {
  readonly health = createReachableDependency("plane");
  readonly hears = true;
  readonly clock: Clock;
  readonly log: Log;
  readonly peerLog: RateLimitedLog;
  readonly limits: HubLimits;
  readonly router = createMessageRouter();
  readonly verifier: AcceptedCredentials;
  readonly accountSeed: string;
  port: number;
  readonly #options: HubOptions;
  readonly #account: SigningKey;
  readonly #credentialTtlMs: number;
  #secureContext: SecureContext | undefined;
  readonly #server: Server;
  readonly #connections: ConnectionLimits<HubConnection>;
  readonly #nodes = new Map<string, Set<HubConnection>>();
  readonly #rates: NodeRateLimits;
  readonly #backoff: ReconnectBackoff;
  readonly #goneListeners: ((nodeId: string, by: "node") => void)[] = [];
  #closing: Promise<void> | undefined;

  constructor(options: HubOptions) {
    this.#options = options;
    this.clock = options.clock;
    this.log = options.log;
    this.peerLog = rateLimitedLog(options.log, options.clock);
    this.limits = { ...HUB_LIMITS, ...options.limits };
    this.#connections = new ConnectionLimits(this.limits);
    this.#backoff = new ReconnectBackoff(options.clock);
    this.#rates = new NodeRateLimits(this.limits, options.clock, (nodeId) => this.#nodes.has(nodeId));
    this.#credentialTtlMs = checkTtl(options.credentialTtlMs ?? CREDENTIAL_TTL_MS);
    const { accountSeed, oldAccountSeed, random, tls } = options;
    this.#account = accountSeed === undefined ? createKey("account", random) : keyFromSeed(accountSeed, "account");
    this.accountSeed = this.#account.seed;
    const signers = [this.#account, ...(oldAccountSeed === undefined ? [] : [keyFromSeed(oldAccountSeed, "account")])];
    this.verifier = { accounts: signers.map(verifyingKeyOf), revocations: createMemoryRevocations() };
    this.#secureContext = tls === undefined ? undefined : readCertificate(tls);
    this.port = options.port;
    this.#server = createServer({ noDelay: true }, (socket) => this.#accept(socket));
  }

  renewCertificate(tls: Certificate): void {
    this.#secureContext = readCertificate(tls);
  }

  get url(): string {
    const { host, publicUrl, tls } = this.#options;
    if (publicUrl !== undefined) return publicUrl;
    return `${tls === undefined ? "nats" : "tls"}://${isIPv6(host) ? `[${host}]` : host}:${this.port}`;
  }

  async listen(): Promise<void> {
    const { host, port } = this.#options;
    await new Promise<void>((resolve, reject) => {
      const settings = { host: "PLANE_HOST", port: "PLANE_PORT" };
      this.#server.once("error", (cause) => reject(new ListenError({ host, port }, settings, cause)));
      this.#server.listen({ host, port, backlog: CONNECTION_QUEUE_MAX }, resolve);
    });
    this.#server.removeAllListeners("error");
    this.#server.on("error", (err) => this.log.error({ err }, "plane: could not accept a connection"));
    const address = this.#server.address();
    invariant(address !== null && typeof address === "object", "a TCP server has an address");
    this.port = address.port;
  }

  publish(subject: string, payload: Uint8Array, rest?: Uint8Array): void {
    invariant(isSubject(subject), "a message is published to one plain subject");
    const bytes = payload.length + (rest?.length ?? 0);
    invariant(bytes <= this.limits.payloadBytesMax, "a message fits the plane's payload limit");
    this.router.route(subject, payload, rest);
  }

  subscribe(pattern: string, receive: (subject: string, payload: Uint8Array) => void): () => void {
    return this.router.add(pattern, (subject, payload, rest) => receive(subject, concatPayloadParts(payload, rest)));
  }

  onNodeGone(gone: (nodeId: string, by: "node") => void): void {
    this.#goneListeners.push(gone);
  }

  /** Never calls the listener, because the hub ends only with the gateway. */
  onAway(): void {}
  onBack(): void {}
  /** Calls `told` at once, because the hub is part of this process and therefore answers. */
  whenProven(_nodeId: string, told: (isWell: boolean) => void): void {
    told(true);
  }

  reaches(): true {
    return true;
  }

  movedFrom(): undefined {
    return undefined;
  }

  answers(): boolean {
    return true;
  }

  movedAt(): undefined {
    return undefined;
  }

  async mint(nodeId: string): Promise<NodeCredentials> {
    const nowMs = this.clock.now();
    return issueNodeCredentials(this.#account, {
      nodeId,
      url: this.url,
      issuedAtS: this.verifier.revocations.issueSecond(nodeId, nowMs),
      nowMs,
      ttlMs: this.#credentialTtlMs,
      limits: this.limits,
    });
  }

  async refuseNewConnections(nodeId: string): Promise<void> {
    this.#revokeCredentials(nodeId);
  }

  async revoke(nodeId: string): Promise<void> {
    this.#revokeCredentials(nodeId);
    // Without an `await` before this, no message of a chunk that is being read is delivered after the revocation.
    for (const connection of [...(this.#nodes.get(nodeId) ?? [])]) connection.cut("Authentication Revoked");
  }

  #revokeCredentials(nodeId: string): void {
    invariant(isNodeId(nodeId), "a node ID must not be empty or contain dots, spaces, * or >");
    this.verifier.revocations.revoke(nodeId, this.clock.now());
  }

  async cut(nodeId: string): Promise<void> {
    this.#backoff.start(nodeId);
    for (const connection of [...(this.#nodes.get(nodeId) ?? [])]) connection.cut("Maximum Message Rate Exceeded");
  }

  close(): Promise<void> {
    this.#closing ??= new Promise((resolve, reject) => {
      // Closes the server. Resolves once the last socket is closed.
      this.#server.close((error) => (error === undefined ? resolve() : reject(error)));
      for (const connection of this.#connections.all()) connection.close();
    });
    return this.#closing;
  }

  admit(connection: HubConnection, nodeId: string): ConnectionAdmission {
    const peers = this.#nodes.get(nodeId) ?? new Set();
    if (peers.size >= this.limits.connectionsPerNodeMax) return "too many connections from one node";
    if (this.#backoff.leftMs(nodeId) > 0) return "node reconnected too soon after it was disconnected";
    if (!this.#rates.mayConnect(nodeId)) return "node connects too often";
    this.#connections.noLongerWaits(connection);
    this.#nodes.set(nodeId, peers.add(connection));
    return this.#rates.ofSending(nodeId);
  }

  ended(connection: HubConnection): void {
    this.#connections.noLongerWaits(connection);
    const { nodeId } = connection;
    const peers = nodeId === undefined ? undefined : this.#nodes.get(nodeId);
    if (nodeId === undefined || peers === undefined) return;
    peers.delete(connection);
    if (peers.size > 0) return;
    this.#nodes.delete(nodeId);
    // Deferred, because a connection can end during a call to `publish`, whose caller must not be called back before it
    // returns.
    queueMicrotask(() => {
      if (this.#closing !== undefined) return;
      for (const gone of this.#goneListeners) gone(nodeId, "node");
    });
  }

  closed(connection: HubConnection): void {
    this.#connections.remove(connection);
  }

  #accept(raw: Socket): void {
    const { remoteAddress } = raw;
    if (this.#closing !== undefined || !this.#connections.hasRoom(remoteAddress)) {
      raw.on("error", (error) =>
        this.log.debug({ reason: error.message }, "plane: a refused peer closed the connection"),
      );
      raw.end("-ERR 'maximum connections exceeded'\r\n");
      raw.destroySoon();
      return;
    }
    this.#connections.toEvict(remoteAddress)?.cut("Authentication Timeout");
    const nonce = this.#randomText(15);
    raw.write(`INFO ${this.#greeting(nonce)}\r\n`);
    const connection = new HubConnection(this, this.#secured(raw), nonce);
    this.#connections.add(connection, remoteAddress);
  }

  /** Upgrades to TLS: NATS sends its greeting in clear text, and then the client starts TLS on the same socket. */
  #secured(raw: Socket): Socket {
    if (this.#secureContext === undefined) return raw;
    raw.on("error", (error) => this.log.debug({ reason: error.message }, "plane: TLS socket failed"));
    return new TLSSocket(raw, { isServer: true, secureContext: this.#secureContext });
  }

  #greeting(nonce: string): string {
    return JSON.stringify({
      server_id: this.#account.publicKey,
      server_name: "tollgate",
      version: NATS_VERSION,
      proto: 1,
      host: this.#options.host,
      port: this.port,
      headers: true,
      max_payload: this.limits.payloadBytesMax,
      auth_required: true,
      nonce,
      ...(this.#secureContext === undefined ? {} : { tls_required: true }),
    });
  }

  #randomText(bytes: number): string {
    const buffer = Buffer.alloc(bytes);
    this.#options.random.fill(buffer);
    return buffer.toString("base64url");
  }
}

function verifyingKeyOf({ publicKey }: SigningKey): VerifyingKey {
  const key = parsePublicKey("account", publicKey);
  invariant(key !== undefined, "an account's public key reads back");
  return key;
}

function readCertificate(tls: Certificate): SecureContext {
  try {
    return createSecureContext(tls);
  } catch (cause) {
    throw new Error("dispatch plane: the TLS certificate or its key cannot be read", { cause });
  }
}
