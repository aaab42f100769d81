/**
 * The dispatch plane on NATS servers in operator mode, for several gateways with a shared fleet. Gateways and nodes are
 * users of one account; a node's JWT allows only the node's subjects. The servers enforce permissions and expiry,
 * report disconnections, and store the revocations.
 */
import { errors } from "@nats-io/transport-node";
import { nodeStateSubject, parseSendingNode, STATE_REQUEST_SUBJECT } from "@tollgate/protocol/nats-subjects.ts";
import { type Clock, sleep } from "../../base/clock.ts";
import type { Dependency } from "../../base/dependency.ts";
import { invariant } from "../../base/invariant.ts";
import type { Log } from "../../base/log.ts";
import type { Random } from "../../base/random.ts";
import { type RateLimitedLog, rateLimitedLog } from "../../base/rate-limited-log.ts";
import { keyFromSeed, type SigningKey } from "../credentials/nkeys.ts";
import {
  CREDENTIAL_TTL_MS,
  checkTtl,
  chooseIssueSecond,
  deriveNodeKey,
  issueNodeCredentials,
  PAYLOAD_BYTES_MAX,
} from "../credentials/node-credentials.ts";
import { concatPayloadParts, type DispatchPlane, type NodeCredentials, type PlaneOwnership } from "../plane.ts";
import { ReconnectBackoff } from "../reconnect-backoff.ts";
import { isSubject } from "../subject-patterns.ts";
import {
  type AccountClaims,
  type RevokedKeys,
  readAccountJwt,
  readDeploymentTag,
  readRevokedKeys,
  readRevokedUntilS,
} from "./account-jwt.ts";
import { connectNats } from "./connect-to-nats.ts";
import { ConnectedNodes, OpenConnections } from "./connected-nodes.ts";
import { parseServerId, readNodeEvent, readServerIdOfPing } from "./connection-events.ts";
import { CredentialRevoker } from "./credential-revoker.ts";
import { createGatewayLogin } from "./gateway-login.ts";
import { PlaneUnreachableError, ReconnectingConnection } from "./reconnecting-connection.ts";
import { PING_SERVERS_EVERY_MS, ServerPings } from "./server-pings.ts";
import { addSigningKeys } from "./signing-keys.ts";
import {
  ACCOUNT_LOOKUP_SUBJECT,
  NODE_EVENTS_SUBJECT,
  PING_SERVERS_SUBJECT,
  parsePingNumber,
  pingAnswerSubject,
  REVOCATIONS_SUBJECT,
} from "./subjects.ts";
import { openSystemAccountAccess, type SystemUser } from "./system-account.ts";

export interface NatsPlaneOptions {
  /** `nats://…` or `tls://…`. The servers of a cluster are separated by commas. */
  url: string;
  /** The address that nodes connect to, if it differs. */
  publicUrl?: string;
  /** The gateway's name in the servers' list of connections. */
  gatewayId: string;
  /** The account's seed. It signs the credentials of gateways and nodes, unless there are signing keys. */
  accountSeed?: string | undefined;
  /** The account's public key. Required if its seed is absent. */
  account?: string | undefined;
  /**
   * Seeds of keys that sign for the account. The first one signs. Nodes with credentials of any of them are accepted.
   */
  signingSeeds?: string[] | undefined;
  /** The seed of the operator's key, which signs new versions of the account's JWT. */
  operatorSeed: string;
  /** The user of the system account, which may send JWTs to the servers. */
  system: SystemUser;
  credentialTtlMs?: number;
  /** The maximum time for a server's answer or greeting. Tests raise it for busy machines. */
  answerTimeoutMs?: number;
  clock: Clock;
  random: Random;
  log: Log;
}

/**
 * Throws when a seed is invalid or the servers refuse it. If the servers are unreachable, retries in the background.
 */
export async function openNatsPlane(options: NatsPlaneOptions): Promise<DispatchPlane> {
  const plane = new NatsPlane(options);
  await plane.open();
  return plane;
}

const STATES = nodeStateSubject("");
/**
 * The longest wait for other gateways to receive an announcement. A gateway that did not receive it in time may
 * overwrite the revocation; this gateway then writes it again a little later.
 */
const ANNOUNCE_MS_MAX = 250;
/** After this many failed lookups, the servers' configuration counts as wrong. */
const LOOKUPS_MAX = 3;
/** A healthy server answers within this time. If it does not, a failure is blamed on the server and not on the node. */
const PROVEN_MS_MAX = 100;
/** How long unclear disconnects are collected before their nodes are asked for their state. */
const DOUBT_MS = 100;
const ANSWER_MS_MAX = 500;

class NatsPlane implements DispatchPlane {
  readonly isShared = true;
  readonly health: Dependency;
  readonly ownership: PlaneOwnership;
  readonly #options: NatsPlaneOptions;
  /** The account's public key. */
  readonly #account: string;
  /**
   * Accepted signing keys. New credentials are signed with the first one. A node's own key is derived from the signing
   * key, so it differs for each of them.
   */
  readonly #signers: [SigningKey, ...SigningKey[]];
  readonly #credentialTtlMs: number;
  readonly #connection: ReconnectingConnection;
  readonly #connectedNodes = new ConnectedNodes();
  readonly #servers = new ServerPings();
  readonly #stopAsking: () => void;
  readonly #revoker: CredentialRevoker;
  readonly #backoff: ReconnectBackoff;
  readonly #peerLog: RateLimitedLog;
  readonly #goneListeners: ((nodeId: string, by: "node" | "plane") => void)[] = [];
  /** Nodes whose next connection revokes their credentials. */
  readonly #refusingNew = new Set<string>();
  readonly #openConnections = new OpenConnections();
  /** Nodes that lost a connection but may still have another one, with the side that ended the lost one. */
  readonly #doubtful = new Map<string, "node" | "plane">();
  readonly #awayListeners: (() => void)[] = [];
  readonly #backListeners: (() => void)[] = [];

  constructor(options: NatsPlaneOptions) {
    this.#options = options;
    const { clock, log, url, system, answerTimeoutMs } = options;
    this.#backoff = new ReconnectBackoff(clock);
    this.#peerLog = rateLimitedLog(log, clock);
    const { accountSeed, signingSeeds = [] } = options;
    const [signer, ...others] = [...signingSeeds, accountSeed]
      .filter((seed) => seed !== undefined)
      .map((seed) => keyFromSeed(seed, "account"));
    invariant(signer !== undefined, "somebody signs for the account");
    this.#signers = [signer, ...others];
    const account = accountSeed === undefined ? options.account : keyFromSeed(accountSeed, "account").publicKey;
    invariant(account !== undefined, "the NATS account's seed or its public key must be set");
    this.#account = account;
    this.#credentialTtlMs = checkTtl(options.credentialTtlMs ?? CREDENTIAL_TTL_MS);
    this.#connection = new ReconnectingConnection({
      dial: () => this.#dial(),
      back: () => this.#back(),
      away: () => this.#away(),
      failed: (subject, error) => this.#failed(subject, error),
      answerTimeoutMs,
      clock,
      log,
    });
    this.health = this.#connection;
    this.#revoker = new CredentialRevoker({
      lookup: () => this.#lookup(),
      withSystem: (task) => openSystemAccountAccess({ url, user: system, account, answerTimeoutMs }, task),
      announce: (revoked) => this.#announce(revoked),
      operator: keyFromSeed(options.operatorSeed, "operator"),
      clock,
      log,
    });
    this.ownership = {
      owner: async () => readDeploymentTag(await this.#lookup()),
      claim: (deployment) => this.#revoker.claim(deployment),
      take: (deployment) => this.#revoker.take(deployment),
    };
    this.#connection.subscribe(NODE_EVENTS_SUBJECT, (subject, payload) => this.#event(subject, payload));
    this.#connection.subscribe(REVOCATIONS_SUBJECT, (_subject, payload) => this.#heardRevocations(payload));
    this.#connection.subscribe(pingAnswerSubject(options.gatewayId, "*"), (subject, payload) => {
      const server = readServerIdOfPing(payload);
      if (server !== undefined) this.#servers.answered(server, parsePingNumber(subject));
    });
    this.#stopAsking = clock.every(PING_SERVERS_EVERY_MS, () => this.#askServers());
  }

  /** Publishes the key that signs the gateway's login, because the servers must have it first. */
  async #dial() {
    const { url, system, operatorSeed, clock, answerTimeoutMs } = this.#options;
    const named = this.#signers.map(({ publicKey }) => publicKey).filter((key) => key !== this.#account);
    if (named.length > 0) {
      const operator = keyFromSeed(operatorSeed, "operator");
      await addSigningKeys({ url, system, account: this.#account, operator, clock, answerTimeoutMs }, named);
    }
    const [signer] = this.#signers;
    const login = createGatewayLogin(signer, { ...this.#options, issuerAccount: this.#issuerAccount });
    return await connectNats({ ...login, dialTimeoutMs: answerTimeoutMs });
  }

  /**
   * The NATS account's public key if a separate signing key signs for it. Undefined when the account's own key signs.
   */
  get #issuerAccount(): string | undefined {
    return this.#signers[0].publicKey === this.#account ? undefined : this.#account;
  }

  async open(): Promise<void> {
    await this.#connection.open();
    try {
      await this.#checkRights();
    } catch (error) {
      if (error instanceof PlaneUnreachableError) return;
      await this.close();
      throw error;
    }
  }

  publish(subject: string, payload: Uint8Array, rest?: Uint8Array): void {
    invariant(isSubject(subject), "a message is published to one plain subject");
    const whole = concatPayloadParts(payload, rest);
    invariant(whole.length <= PAYLOAD_BYTES_MAX, "a message fits the plane's payload limit");
    this.#connection.publish(subject, whole);
  }

  subscribe(pattern: string, receive: (subject: string, payload: Uint8Array) => void): () => void {
    return this.#connection.subscribe(pattern, (subject, payload) => {
      if (subject.startsWith(STATES)) this.#connectedNodes.heard(subject.slice(STATES.length));
      receive(subject, payload);
    });
  }

  hasSubscribers(subject: string): Promise<boolean> {
    return this.#connection.hasSubscribers(subject);
  }

  onNodeGone(gone: (nodeId: string, by: "node" | "plane") => void): void {
    this.#goneListeners.push(gone);
  }

  onAway(run: () => void): void {
    this.#awayListeners.push(run);
  }

  onBack(run: () => void): void {
    this.#backListeners.push(run);
  }

  get hears(): boolean {
    return this.#connection.hears;
  }

  movedAt(nodeId: string): number | undefined {
    return this.#connectedNodes.movedAt(nodeId);
  }

  movedFrom(nodeId: string): string | undefined {
    const connection = this.#connectedNodes.movedFrom(nodeId);
    return connection === undefined ? undefined : parseServerId(connection);
  }

  answers(server: string): boolean {
    return this.#servers.answers(server);
  }

  reaches(nodeId: string): boolean {
    const connection = this.#connectedNodes.connectionOf(nodeId);
    return this.#servers.answers(connection === undefined ? undefined : parseServerId(connection));
  }

  whenProven(nodeId: string, told: (isWell: boolean) => void): void {
    if (!this.hears || !this.reaches(nodeId)) {
      told(false);
      return;
    }
    const connection = this.#connectedNodes.connectionOf(nodeId);
    const server = connection === undefined ? undefined : parseServerId(connection);
    const ping = this.#servers.newPing();
    this.#connection.publish(PING_SERVERS_SUBJECT, new Uint8Array(0), pingAnswerSubject(this.#options.gatewayId, ping));
    this.#options.clock.after(PROVEN_MS_MAX, () => told(this.#servers.answeredSince(server, ping)));
  }

  async mint(nodeId: string): Promise<NodeCredentials> {
    const { clock, url, publicUrl } = this.#options;
    const pauseMs = this.#backoff.leftMs(nodeId);
    if (pauseMs > 0)
      throw new Error(`the node was disconnected and may not reconnect for ${Math.ceil(pauseMs / 1000)} s`);
    const [signer] = this.#signers;
    const revoked = readRevokedUntilS(await this.#lookup(), deriveNodeKey(signer, nodeId).publicKey);
    const nowMs = clock.now();
    return issueNodeCredentials(signer, {
      nodeId,
      issuerAccount: this.#issuerAccount,
      url: publicUrl ?? url,
      issuedAtS: chooseIssueSecond(nowMs, revoked),
      nowMs,
      ttlMs: this.#credentialTtlMs,
    });
  }

  async refuseNewConnections(nodeId: string): Promise<void> {
    this.#refusingNew.add(nodeId);
  }

  /** Revokes the node's keys under all signers. */
  async revoke(nodeId: string): Promise<void> {
    this.#refusingNew.delete(nodeId);
    await Promise.all(this.#signers.map((signer) => this.#revoker.revoke(deriveNodeKey(signer, nodeId).publicKey)));
  }

  /**
   * Revokes the node's present credentials, because servers cannot disconnect a node in another way. The node fetches
   * new ones.
   */
  cut(nodeId: string): Promise<void> {
    this.#backoff.start(nodeId);
    return this.revoke(nodeId);
  }

  async close(): Promise<void> {
    this.#stopAsking();
    this.#revoker.close();
    await this.#connection.close();
  }

  /** Checks at the start that the gateway may write revocations. */
  async #checkRights(): Promise<void> {
    const { url, system, answerTimeoutMs } = this.#options;
    await this.#firstLookup().catch((cause) => {
      if (cause instanceof PlaneUnreachableError) throw cause;
      const need = "it needs the imports that `tollgate admin plane init` writes";
      throw new Error(`NATS does not return this account's JWT (${cause.message}); ${need}`, { cause });
    });
    await openSystemAccountAccess({ url, user: system, account: this.#account, answerTimeoutMs }, async (record) => {
      await record.read();
    });
  }

  /** Tries again on a timeout, because a server that is busy or just started may not answer. A refusal is final. */
  async #firstLookup(): Promise<AccountClaims> {
    for (let left = LOOKUPS_MAX; ; left--) {
      try {
        return await this.#lookup();
      } catch (error) {
        if (!(error instanceof errors.TimeoutError) || left === 1) throw error;
      }
    }
  }

  async #lookup(): Promise<AccountClaims> {
    const account = readAccountJwt(await this.#connection.ask(ACCOUNT_LOOKUP_SUBJECT));
    if (account === undefined) throw new Error("NATS did not return the account's JWT");
    return account;
  }

  /**
   * Announces revocations to the other gateways. The wait is limited, because during a flood the server confirms late,
   * and a flooding node must not delay its own revocation.
   */
  async #announce(revoked: RevokedKeys): Promise<void> {
    this.#connection.publish(REVOCATIONS_SUBJECT, Buffer.from(JSON.stringify(revoked)));
    await Promise.race([this.#connection.flush(), sleep(this.#options.clock, ANNOUNCE_MS_MAX)]);
  }

  #heardRevocations(payload: Uint8Array): void {
    const revoked = readRevokedKeys(payload);
    if (revoked !== undefined) this.#revoker.heard(revoked);
    else this.#options.log.warn("another gateway announced revoked keys in an unreadable message; ignoring it");
  }

  #back(): void {
    this.#revoker.retry();
    // Asks nodes that stayed connected to report their state.
    this.#connection.publish(STATE_REQUEST_SUBJECT, new Uint8Array(0));
    for (const run of this.#backListeners) run();
  }

  #away(): void {
    this.#connectedNodes.clear();
    this.#openConnections.clear();
    this.#servers.clear();
    this.#doubtful.clear();
    for (const run of this.#awayListeners) run();
  }

  #askServers(): void {
    if (!this.hears) return;
    const ping = this.#servers.asked();
    this.#connection.publish(PING_SERVERS_SUBJECT, new Uint8Array(0), pingAnswerSubject(this.#options.gatewayId, ping));
  }

  #event(subject: string, payload: Uint8Array): void {
    const event = readNodeEvent(subject, payload);
    if (event === undefined) return;
    const { kind, nodeId, connection, by } = event;
    const now = this.#options.clock.monotonic();
    if (kind === "disconnect") {
      this.#openConnections.ended(nodeId, connection);
      this.#ended(nodeId, by, this.#connectedNodes.disconnected(nodeId, connection, now));
      return;
    }
    this.#connectedNodes.connected(nodeId, connection, now);
    const isTooMany = this.#openConnections.began(nodeId, connection, (server) => this.#servers.answers(server));
    if (this.#refusingNew.has(nodeId)) this.#disconnect(nodeId, this.revoke(nodeId), "a retired node connected");
    else if (isTooMany) this.#disconnect(nodeId, this.cut(nodeId), "too many connections of a node");
  }

  #disconnect(nodeId: string, revoked: Promise<void>, reason: string): void {
    this.#peerLog.warn(nodeId, { nodeId }, `plane: ${reason}; disconnecting it`);
    revoked.catch((error) =>
      this.#options.log.error({ err: error, node: nodeId }, "node credentials not revoked yet; retrying"),
    );
  }

  #ended(nodeId: string, by: "node" | "plane", left: "gone" | "there" | "unsure"): void {
    if (left === "gone") {
      this.#openConnections.forget(nodeId);
      this.#gone(nodeId, by);
    }
    if (left !== "unsure") return;
    this.#doubtful.set(nodeId, by);
    // Collects nodes for a moment, to ask them all with one message.
    if (this.#doubtful.size === 1) this.#options.clock.after(DOUBT_MS, () => this.#askDoubtful());
  }

  /**
   * Asks uncertain nodes for their state. After a hang a server may report the end of a connection that the node has
   * replaced; a node that is still connected replies.
   */
  #askDoubtful(): void {
    const asked = [...this.#doubtful];
    this.#doubtful.clear();
    this.#connection.publish(STATE_REQUEST_SUBJECT, new Uint8Array(0));
    this.#options.clock.after(ANSWER_MS_MAX, () => {
      // Does nothing while the plane is unreachable, because all nodes have already been reported as gone.
      if (this.#connection.isAway) return;
      for (const [nodeId, by] of asked) if (!this.#connectedNodes.has(nodeId)) this.#gone(nodeId, by);
    });
  }

  #gone(nodeId: string, by: "node" | "plane"): void {
    for (const gone of this.#goneListeners) gone(nodeId, by);
  }

  /**
   * A subscriber in the gateway threw. The node's stream has a gap, so its jobs end as if the node had disconnected.
   */
  #failed(subject: string, error: unknown): void {
    const nodeId = parseSendingNode(subject);
    this.#peerLog.error(nodeId ?? "", { nodeId, err: error }, "plane: subscriber failed");
    if (nodeId !== undefined) this.#gone(nodeId, "node");
  }
}
