/** Opens the two HTTP servers: the public one with every route, and the internal one for health and metrics. */
import { freeStartupMemory } from "../base/startup-memory.ts";
import { type Health, internalServer } from "../http/server.ts";
import { warmUpConsoleQueries } from "../routes/console/warm-up-queries.ts";
import type { RouteServices } from "../routes/services.ts";
import { publicServer } from "../site/public-server.ts";
import type { AssemblyContext, CloseFunction } from "./assembly-context.ts";
import type { DatabaseAccess, Listener } from "./port-interfaces.ts";

interface Needs {
  listener: Listener;
  store: Pick<DatabaseAccess, "connections">;
  parts: RouteServices;
  health: Health;
  /** Registers a function that runs last, so that health and metrics are available until the end. */
  onClosed: (stop: CloseFunction) => void;
}

export interface Servers {
  port: number;
  internalPort: number;
  /** Stops accepting connections and closes existing ones, idle ones after `quietMs`. Resolves when none is left. */
  leave: (quietMs: number) => Promise<void>;
  /** Closes all connections immediately. */
  cutOff: () => void;
  /**
   * Loads modules that the console's first visitors need, and releases memory that only the start needed. Call it once
   * the gateway serves. Never rejects.
   */
  warm: () => Promise<void>;
}

export async function openServers(
  { log, onClose }: AssemblyContext,
  { listener, store, parts, health, onClosed }: Needs,
): Promise<Servers> {
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
      // Ends event streams, which would keep connections open for minutes. The pages reconnect to another gateway.
      parts.live.close();
      return open.connections.leave(quietMs);
    },
    cutOff: () => open.server.closeAllConnections(),
    async warm() {
      const { kept: connections } = store.connections;
      await warmUpConsoleQueries(parts, { connections, isOver: () => isOver }).catch((error) =>
        log.debug({ err: error }, "could not prepare the console's SQL queries; the first page load will be slower"),
      );
      // Only while no request is in flight, because freeing memory blocks the event loop.
      if (!isOver && parts.gateway.inFlight.count === 0) freeStartupMemory();
    },
  };
}
