/** A gateway's life: config → build → listen → drain. */
import { type Clock, sleep, systemClock } from "./base/clock.ts";
import type { Log } from "./base/log.ts";
import { type App, build } from "./build.ts";
import type { Config } from "./config.ts";
import { listen, PortTaken } from "./http/server.ts";

/** A connection that carries nothing stays for so long after nobody new is taken: a request may be on its way on it. */
const QUIET_MS = 1_000;
/** At the end of the grace what is left is told its end, and has so long to be settled and to read it. */
const LAST_WORDS_MS = 5_000;

export interface RunningGateway extends App {
  port: number;
  internalPort: number;
  /** Says that it stops, lets what is under way end, and resolves when nothing is. Part of `close`. */
  drain(): Promise<void>;
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
    log.info({ deployment: app.deployment, port, internalPort }, "serving");
    let drained: Promise<void> | undefined;
    const stopServing = (): Promise<void> => {
      drained ??= drain(app, { ...config.drain, clock: systemClock, log });
      return drained;
    };
    const close = async (): Promise<void> => {
      await stopServing();
      await closeAll(app);
      log.info("stopped");
    };
    return { ...app, port, internalPort, drain: stopServing, close };
  } catch (error) {
    await closeAll(app);
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

/** In order; health and metrics are told to the last. */
async function closeAll(app: App): Promise<void> {
  try {
    await app.publicServer.close();
    await app.close();
  } finally {
    await app.internalServer.close();
  }
}

/**
 * First `/readyz` says so, and for `delayMs` everything is served as before: balancers need that long to notice. Then nobody new is
 * taken, and what is under way has `graceMs` to end. What has not is ended, settled and told so. Where there is no delay nobody is
 * to be waited for, and quiet connections are closed at once.
 */
export async function drain(
  app: Pick<App, "notReady" | "leave" | "underWay"> & { publicServer: { server: { closeAllConnections(): void } } },
  { delayMs, graceMs, clock, log }: { delayMs: number; graceMs: number; clock: Clock; log: Log },
): Promise<void> {
  const { underWay } = app;
  log.info({ delayMs, graceMs }, "draining: not ready from now on");
  app.notReady();
  if (delayMs > 0) await sleep(clock, delayMs);
  let stopTimer = clock.after(graceMs, () => {
    log.warn({ requests: underWay.count }, "requests were still under way at the end of the drain; they end now");
    underWay.stop();
    stopTimer = clock.after(LAST_WORDS_MS, () => app.publicServer.server.closeAllConnections());
  });
  await app.leave(Math.min(QUIET_MS, delayMs, graceMs));
  // Who has left keeps its request's books open for a moment longer.
  await underWay.none();
  stopTimer();
}
