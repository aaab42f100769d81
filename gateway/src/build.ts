/**
 * Creates ports and settings from the configuration, and calls `assemble`. No other code depends on the implementation
 * behind a port.
 */
import { createDevelopmentMailSender, createSmtpMailSender, type MailSender } from "./accounts/mail-sender.ts";
import type { CloseFunction } from "./assemble/assembly-context.ts";
import type { ExternalInterfaces, Listener } from "./assemble/port-interfaces.ts";
import { assemble, type ListeningGateway } from "./assemble.ts";
import { systemClock } from "./base/clock.ts";
import type { Dependency } from "./base/dependency.ts";
import { newIds, publicIdSuffix } from "./base/ids.ts";
import { systemOpenFiles } from "./base/open-file-limit.ts";
import { systemRandom } from "./base/random.ts";
import { VERSION } from "./base/version.ts";
import { deriveSettingsFromConfig } from "./build/assembly-settings.ts";
import type { BuildContext, GatewayBuildOptions } from "./build/build-context.ts";
import { openModelsAndTokenizers } from "./build/catalogue.ts";
import { openGatewayDatabase } from "./build/database.ts";
import { type ListenerWithInternalServer, openStartingListener } from "./build/http-listener.ts";
import { createLimitsFactory } from "./build/limits-factory.ts";
import { openPlane, verifyPlaneDeployment } from "./build/open-plane.ts";
import { openTracing } from "./build/open-tracing.ts";
import { openPaymentProvider } from "./build/payments.ts";
import { openSharedSettings } from "./build/shared-settings.ts";
import { type MissingDependency, type ReportMissing, retryUntilStarted } from "./build/wait-for-dependencies.ts";
import { type DatabaseClock, openDatabaseClock } from "./db/database-clock.ts";
import { createStartupHealth } from "./http/health.ts";
import { CATALOGUE_FILE, loadCatalogue } from "./metering/catalogue.ts";
import { loadServerSecrets, type ServerSecrets } from "./server-secrets.ts";
import { loadSecretCanaries } from "./trust/canary-source.ts";

export interface BuiltGateway extends ListeningGateway {
  /** The process ID of the private PostgreSQL; null if another database is configured. */
  postgresPid: number | null;
}

/** Builds a gateway. Waits for an unreachable database, even if it becomes unreachable during the start. */
export async function buildGateway(options: GatewayBuildOptions): Promise<BuiltGateway> {
  const { config, clock: machine = systemClock } = options;
  const random = systemRandom();
  const log = options.log.child({ version: VERSION });
  const time = openDatabaseClock({ machine, log, uncertaintyMsMax: config.clockUncertaintyMsMax });
  const { clock } = time;
  const { onClose, close } = openStack();
  const common = { ...options, log, clock, random, newId: newIds(clock, random) };
  let missing: MissingDependency | undefined;
  const tellMissing: ReportMissing = (now) => {
    missing = now;
  };
  const opened: Dependency[] = [];
  const starting = createStartupHealth(
    () => missing,
    () => opened,
  );
  try {
    const listener = await openStartingListener({ ...common, onClose }, starting);
    const gateway = await retryUntilStarted(common, tellMissing, () => {
      opened.length = 0;
      listener.internal.tellOf(starting);
      return start(common, { time, listener, tellMissing, opened });
    });
    const closeAll = async (): Promise<void> => {
      await gateway.close();
      await close();
    };
    return { ...gateway, close: closeAll };
  } catch (error) {
    await close();
    throw error;
  }
}

interface Started {
  time: DatabaseClock;
  listener: ListenerWithInternalServer;
  tellMissing: ReportMissing;
  /** Gets each dependency as soon as the gateway has reached it. */
  opened: Dependency[];
}

async function start(common: Omit<BuildContext, "gatewayId" | "onClose">, started: Started): Promise<BuiltGateway> {
  const { config, development, newId, worker } = common;
  const gatewayId = publicIdSuffix(newId());
  const { onClose, close } = openStack();
  // Log lines name the gateway, because several may write to the same place.
  const log = common.log.child({ instance: gatewayId });
  const opened = await openPorts({ ...common, log, gatewayId, onClose }, started, close).catch(async (error) => {
    await close();
    throw error;
  });
  const { ports, postgresPid, ...known } = opened;
  const hasUpkeep = worker?.hasUpkeep ?? true;
  const gateway = await assemble(ports, deriveSettingsFromConfig({ config, development, upkeep: hasUpkeep, ...known }));
  return { ...gateway, postgresPid };
}

function openStack(): { onClose: (stop: CloseFunction) => void; close: () => Promise<void> } {
  const stack: CloseFunction[] = [];
  return {
    onClose: (stop) => void stack.push(stop),
    async close() {
      for (let stop = stack.pop(); stop !== undefined; stop = stack.pop()) await stop();
    },
  };
}

async function openPorts(context: BuildContext, started: Started, close: () => Promise<void>) {
  const { time, listener, tellMissing, opened } = started;
  const { config, clock, random, newId, gatewayId, log } = context;
  // The catalog is read before anything starts, so that an error leaves nothing to clean up.
  const listed = await loadCatalogue(config.catalogueFile ?? CATALOGUE_FILE);
  const secretCanaries = await loadSecretCanaries(config.canariesFile, listed);
  const tracing = await openTracing(context);
  const { pid: postgresPid, ...store } = await openGatewayDatabase(context, time, tellMissing);
  opened.push(store.health);
  const secrets: ServerSecrets = await loadServerSecrets(config);
  const shared = await openSharedSettings(context, { store, secrets }, tellMissing);
  const models = await openModelsAndTokenizers(context, store);
  const plane = await openPlane(context, secrets);
  if (plane !== undefined) opened.push(plane.health);
  const deployment = verifyPlaneDeployment(context, { pool: store.pool, plane }).then(async (id) => {
    await shared.belongs();
    return id;
  });
  // A rejection is handled by `assemble`, which awaits this promise. If an earlier step fails, only that step's error
  // is reported.
  deployment.catch(() => undefined);
  const ports: ExternalInterfaces & { listener: Listener } = {
    clock,
    random,
    newId,
    gatewayId,
    log,
    tracing,
    store,
    shared,
    models,
    plane,
    deployment,
    limits: createLimitsFactory(context),
    spool: { directory: config.spoolDir, root: context.worker?.spoolRoot },
    files: systemOpenFiles(),
    mail: mailOf(context),
    payments: await openPaymentProvider(context),
    listener,
    close,
  };
  return { ports, postgresPid, secrets, secretCanaries };
}

function mailOf({ config, development = false, log }: BuildContext): MailSender | undefined {
  if (config.mail !== undefined) return createSmtpMailSender(config.mail);
  return development ? createDevelopmentMailSender(log) : undefined;
}
