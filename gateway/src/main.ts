/** A gateway's life: config → build → listen → drain. */
import { systemClock } from "./base/clock.ts";
import type { Log } from "./base/log.ts";
import { type App, build } from "./build.ts";
import type { Config } from "./config.ts";
import { listen, PortTaken } from "./http/server.ts";

/** Requests under way when the gateway stops have this long to end. */
const DRAIN_MAX_MS = 30_000;

export interface RunningGateway extends App {
  port: number;
  internalPort: number;
}

interface GatewayOptions {
  config: Config;
  log: Log;
  progress: (what: string) => void;
  onLost: (error: Error) => void;
  /** A platform to try things on. */
  development?: boolean;
  /** Take any free port for health and metrics when the configured one is taken. */
  anyInternalPort?: boolean;
}

export async function startGateway(options: GatewayOptions): Promise<RunningGateway> {
  const { config, log } = options;
  const app = await build(options);
  try {
    const internalPort = await listenInternally(app, options);
    const port = await listen(app.publicServer, { host: config.host, port: config.port });
    log.info({ port, internalPort, deployment: app.deployment }, "serving");
    return { ...app, port, internalPort, close: () => drain(app, log) };
  } catch (error) {
    await drain(app, log);
    throw error;
  }
}

async function listenInternally(app: App, { config, anyInternalPort = false }: GatewayOptions): Promise<number> {
  const at = { host: config.internalHost, port: config.internalPort };
  try {
    return await listen(app.internalServer, at);
  } catch (error) {
    if (!anyInternalPort || !(error instanceof PortTaken)) throw error;
    return await listen(app.internalServer, { ...at, port: 0 });
  }
}

/** Takes no more requests, lets those under way end, then stops everything in order. */
async function drain(app: App, log: Log): Promise<void> {
  const stopWaiting = systemClock.after(DRAIN_MAX_MS, () => {
    log.warn("requests were still under way at the end of the drain; they are cut");
    app.publicServer.server.closeAllConnections();
  });
  await app.publicServer.close();
  stopWaiting();
  await app.internalServer.close();
  await app.close();
  log.info("stopped");
}
