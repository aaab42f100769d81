/** For the tests of this folder: hubs, real NATS clients, and a raw TCP peer that can break the rules. */
import { connect as connectTcp, type Socket } from "node:net";
import type { TestContext } from "node:test";
import { type ConnectionOptions, connect, jwtAuthenticator, type NatsConnection } from "@nats-io/transport-node";
import { HANG_LIMIT_MS as timeout } from "@tollgate/stage/wait.ts";
import type { Clock } from "../../base/clock.ts";
import { createLog } from "../../base/log.ts";
import { systemRandom } from "../../base/random.ts";
import { createKey, keyFromSeed } from "../credentials/nkeys.ts";
import { mintUserJwt } from "../credentials/user-jwt.ts";
import type { NodeCredentials } from "../plane.ts";
import { type Hub, type HubOptions, openHub } from "./hub.ts";

/** A hub on a free port of this machine, closed after the test. */
export async function openTestHub(t: TestContext, options: Partial<HubOptions> & { clock: Clock }): Promise<Hub> {
  const log = createLog("silent");
  const hub = await openHub({ host: "127.0.0.1", port: 0, random: systemRandom(), log, ...options });
  t.after(() => hub.close());
  return hub;
}

/** An ordinary NATS client, closed after the test. */
export async function connectClient(
  t: TestContext,
  credentials: NodeCredentials,
  options: ConnectionOptions = {},
): Promise<NatsConnection> {
  const client = await connect({
    servers: credentials.url,
    authenticator: jwtAuthenticator(credentials.jwt, Buffer.from(credentials.seed)),
    reconnect: false,
    timeout,
    ...options,
  });
  t.after(() => client.close());
  return client;
}

/** A credential of the hub's account that allows more than a node's credential. */
export function unrestrictedCredentials(hub: Hub, clock: Clock): NodeCredentials {
  const user = createKey("user", systemRandom());
  const nowS = Math.floor(clock.now() / 1000);
  const jwt = mintUserJwt(keyFromSeed(hub.accountSeed), {
    name: "wide",
    userKey: user.publicKey,
    issuedAtS: nowS,
    expiresAtS: nowS + 60,
    subscriptionsMax: -1,
    payloadBytesMax: -1,
    permissions: { publish: [">"], subscribe: [">"] },
  });
  return { url: hub.url, jwt, seed: user.seed, expiresAt: (nowS + 60) * 1000 };
}

/** Resolves with the next node that the hub reports as disconnected. */
export function waitForDisconnectedNode(hub: Hub): Promise<string> {
  return new Promise((resolve) => hub.onNodeGone(resolve));
}

interface PeerOptions {
  allowHalfOpen?: boolean;
  /** The peer's own address: any loopback address. */
  from?: string;
}

/** A TCP peer that sends any text and stores what it receives. */
export class RawPeer {
  readonly socket: Socket;
  /** Resolves when the socket is closed for any reason. */
  readonly closed: Promise<void>;
  /** The last mebibyte of the received text. */
  heard = "";
  heardBytes = 0;
  #listeners: (() => void)[] = [];

  constructor({ port }: { port: number }, { allowHalfOpen = false, from }: PeerOptions = {}) {
    const local = from === undefined ? {} : { localAddress: from };
    this.socket = connectTcp({ host: "127.0.0.1", port, allowHalfOpen, ...local });
    this.socket.setEncoding("latin1");
    this.socket.on("data", (text: string) => {
      this.heardBytes += text.length;
      this.heard = this.heard.length > 1024 * 1024 ? (this.heard + text).slice(-1024) : this.heard + text;
      for (const listener of this.#listeners) listener();
    });
    this.closed = new Promise((resolve) => this.socket.once("close", () => resolve()));
    // A reset is an expected kind of disconnect. Tests check `closed` and `heard`.
    this.socket.on("error", (error) => {
      this.heard += `<${error.message}>`;
    });
  }

  /** Waits until the peer has received `text`, at or after position `from`. */
  async hears(text: string, from = 0): Promise<void> {
    while (this.heard.indexOf(text, from) < 0) {
      await new Promise<void>((resolve, reject) => {
        const fail = (): void => reject(new Error(`closed without ${JSON.stringify(text)}: ${this.heard.slice(-200)}`));
        this.socket.once("close", fail);
        this.#listeners.push(() => {
          this.socket.removeListener("close", fail);
          resolve();
        });
      });
      this.#listeners = [];
    }
  }

  say(text: string | Buffer): void {
    this.socket.write(text, "latin1");
  }

  /** The CONNECT line that answers the greeting with these credentials. */
  async connectLine(credentials: NodeCredentials, extra: object = {}): Promise<string> {
    await this.hears("\r\n");
    const nonce = /"nonce":"([^"]+)"/.exec(this.heard)?.[1] ?? "";
    const sig = keyFromSeed(credentials.seed).sign(Buffer.from(nonce)).toString("base64url");
    return `CONNECT ${JSON.stringify({ jwt: credentials.jwt, sig, ...extra })}\r\n`;
  }

  async authenticate(credentials: NodeCredentials, extra: object = {}): Promise<void> {
    this.say(`${await this.connectLine(credentials, extra)}PING\r\n`);
    await this.hears("PONG\r\n");
  }
}

export function connectRawPeer(t: TestContext, hub: Hub, options: PeerOptions = {}): RawPeer {
  const peer = new RawPeer(hub, options);
  t.after(() => peer.socket.destroy());
  return peer;
}
