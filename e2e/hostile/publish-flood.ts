/** Floods the plane with messages through an ordinary NATS client. */
import type { NatsConnection } from "@nats-io/transport-node";
import { type Credentials, connectToPlane } from "@tollgate/stage/nodes/hand-made-node.ts";

const BATCH = 200;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/**
 * Publishes as fast as it can until the flood is over. It reconnects after each disconnect, as a persistent attacker
 * would. Returns the number of disconnects and refused reconnects.
 */
export async function publishFlood(
  credentials: Omit<Credentials, "expiresAt">,
  next: () => { subject: string; payload: Uint8Array },
  isOver: (cuts: number) => boolean,
): Promise<number> {
  let cuts = 0;
  let line: NatsConnection | undefined;
  while (!isOver(cuts)) {
    if (line === undefined || line.isClosed()) {
      if (line !== undefined) cuts += 1;
      line = await connectToPlane(credentials).catch(() => {
        cuts += 1;
        return undefined;
      });
      continue;
    }
    for (let i = 0; i < BATCH && !line.isClosed(); i++) {
      const { subject, payload } = next();
      line.publish(subject, payload);
    }
    // Waits for a slow server, because only messages that the server reads count. A flush may never resolve after the
    // connection has ended.
    await Promise.race([line.flush().catch(() => {}), line.closed()]);
    await turn();
  }
  await line?.close();
  return cuts;
}
