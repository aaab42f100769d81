/** What no client library does: a node's connection to the plane as a bare socket, and floods over either. */
import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises";
import type { NatsConnection } from "@nats-io/transport-node";
import { RawPeer } from "../../gateway/src/dispatch/hub/testing.ts";
import { type Credentials, dial } from "./node.ts";

const BATCH = 200;

/** A socket that has proved these credentials. */
export async function rawNode(credentials: Credentials): Promise<RawPeer> {
  const peer = new RawPeer({ port: Number(new URL(credentials.url).port) });
  await peer.authenticate(credentials);
  return peer;
}

/** Says this for so long as it is let, as fast as the other side reads, and reads nothing. */
export async function sayUnread(peer: RawPeer, text: string, ms: number): Promise<void> {
  peer.socket.pause();
  const until = performance.now() + ms;
  while (performance.now() < until && peer.socket.writable) {
    if (peer.socket.writableLength < 1024 * 1024) peer.say(text);
    await turn();
  }
}

/** Whether the socket is cut; one that is paused would not notice. */
export async function isCut(peer: RawPeer, withinMs = 10_000): Promise<boolean> {
  peer.socket.resume();
  return await Promise.race([peer.closed.then(() => true), sleep(withinMs, false, { ref: false })]);
}

interface Flood {
  frames: number;
  /** How often it was cut off, or refused when it came back. */
  cuts: number;
}

/** Publishes as fast as it can for so long, and dials again whenever it is cut off, as a stubborn attacker would. */
export async function flood(
  credentials: Omit<Credentials, "expiresAt">,
  ms: number,
  next: () => { subject: string; payload: Uint8Array },
): Promise<Flood> {
  const told = { frames: 0, cuts: 0 };
  const until = performance.now() + ms;
  let line: NatsConnection | undefined;
  while (performance.now() < until) {
    if (line === undefined || line.isClosed()) {
      if (line !== undefined) told.cuts += 1;
      line = await dial(credentials).catch(() => {
        told.cuts += 1;
        return undefined;
      });
      if (line === undefined) await sleep(20);
      continue;
    }
    for (let i = 0; i < BATCH && !line.isClosed(); i++, told.frames++) {
      const { subject, payload } = next();
      line.publish(subject, payload);
    }
    // Waits for the other side where that side is slow: what counts is what it has to read.
    await Promise.race([line.flush().catch(() => {}), sleep(100)]);
    await turn();
  }
  await line?.close();
  return told;
}
