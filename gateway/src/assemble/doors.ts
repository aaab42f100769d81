/** Opens the two listeners: the public one with every route, and the internal one for health and metrics. */
import { tidyUp } from "../base/tidy.ts";
import { type Health, internalServer } from "../http/server.ts";
import { warmConsole } from "../routes/console/warm.ts";
import type { Parts } from "../routes/parts.ts";
import { publicServer } from "../site/public-server.ts";
import type { Context, Stop } from "./context.ts";
import type { Listener, Store } from "./ports.ts";

interface Needs {
  listener: Listener;
  store: Pick<Store, "connections">;
  parts: Parts;
  health: Health;
  /** Runs after everything else was closed: health and metrics are told to the last. */
  onClosed: (stop: Stop) => void;
}

export interface Doors {
  port: number;
  internalPort: number;
  /** Takes no more connections and ends those that there are, quiet ones after `quietMs`. Resolves when none is left. */
  leave: (quietMs: number) => Promise<void>;
  /** Ends every connection at once. */
  cutOff: () => void;
  /**
   * Does beforehand what the first who come to the console would wait for, and gives back what the start took. To be called when
   * the gateway serves; never rejects.
   */
  warm: () => Promise<void>;
}

export async function openDoors(
  { log, onClose }: Context,
  { listener, store, parts, health, onClosed }: Needs,
): Promise<Doors> {
  const openInternal = async (): Promise<number> => {
    if (listener.internal !== undefined) {
      listener.internal.tellOf(health);
      return listener.internal.port;
    }
    const internal = internalServer(health);
    onClosed(() => internal.close());
    return await listener.open(internal, "internal");
  };
  const open = publicServer(parts);
  let isOver = false;
  onClose(async () => {
    isOver = true;
    await open.close();
  });
  const internalPort = await openInternal();
  const port = await listener.open(open, "public");
  return {
    port,
    internalPort,
    leave(quietMs) {
      // An open page would hold its connection for minutes, and finds another gateway.
      parts.live.close();
      return open.connections.leave(quietMs);
    },
    cutOff: () => open.server.closeAllConnections(),
    async warm() {
      const { kept: connections } = store.connections;
      await warmConsole(parts, { connections, isOver: () => isOver }).catch((error) =>
        log.debug({ err: error }, "could not prepare the console's SQL queries; the first page load will be slower"),
      );
      // Who is being answered is not kept waiting for it.
      if (!isOver && parts.gateway.inFlight.count === 0) tidyUp();
    },
  };
}
