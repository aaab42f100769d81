/** What no client library does: a node's connection to the plane as a bare socket, and floods over either. */
import type { NatsConnection } from "@nats-io/transport-node";
import { unlessHung } from "@tollgate/stage/wait.ts";
import { RawPeer } from "../../gateway/src/plane/hub/testing.ts";
import { type Credentials, dial } from "./node.ts";

const BATCH = 200;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A socket that has proved these credentials. */
export async function rawNode(credentials: Credentials): Promise<RawPeer> {
  const peer = new RawPeer({ port: Number(new URL(credentials.url).port) });
  await peer.authenticate(credentials);
  return peer;
}

/** Says this until it is over or cut off, as fast as the other side reads, and reads nothing. */
export async function sayUnread(peer: RawPeer, text: string, isOver: () => boolean): Promise<void> {
  peer.socket.pause();
  while (!isOver() && peer.socket.writable) {
    if (peer.socket.writableLength < 1024 * 1024) peer.say(text);
    await turn();
  }
}

/** Resolves when the socket is cut. One that is paused would not notice. */
export async function untilCut(peer: RawPeer): Promise<void> {
  peer.socket.resume();
  await unlessHung("the plane cuts the connection", peer.closed);
}

/** Resolves when the plane has taken in everything that was said, or has cut the connection for it. */
export async function untilHeard(peer: RawPeer): Promise<void> {
  const from = peer.heard.length;
  peer.say("PING\r\n");
  await unlessHung("the plane hears or cuts", Promise.race([peer.hears("PONG\r\n", from), peer.closed]));
}

/**
 * Publishes as fast as it can until it is over, and dials again whenever it is cut off, as a stubborn attacker would. Returns how
 * often it was cut off, or refused when it came back.
 */
export async function flood(
  credentials: Omit<Credentials, "expiresAt">,
  next: () => { subject: string; payload: Uint8Array },
  isOver: (cuts: number) => boolean,
): Promise<number> {
  let cuts = 0;
  let line: NatsConnection | undefined;
  while (!isOver(cuts)) {
    if (line === undefined || line.isClosed()) {
      if (line !== undefined) cuts += 1;
      line = await dial(credentials).catch(() => {
        cuts += 1;
        return undefined;
      });
      continue;
    }
    for (let i = 0; i < BATCH && !line.isClosed(); i++) {
      const { subject, payload } = next();
      line.publish(subject, payload);
    }
    // Waits for the other side where that side is slow: what counts is what it has to read. A flush may outlive its connection.
    await Promise.race([line.flush().catch(() => {}), line.closed()]);
    await turn();
  }
  await line?.close();
  return cuts;
}
