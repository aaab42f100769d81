/**
 * Turns the configuration into ports and settings, and has `assemble.ts` put the gateway together: the only place that knows which
 * adapter stands behind a port.
 */
import { developmentMail, type Mail, smtpMail } from "./accounts/mail.ts";
import type { Stop } from "./assemble/context.ts";
import type { Listener, Ports } from "./assemble/ports.ts";
import { assemble, type ServedGateway } from "./assemble.ts";
import { systemClock } from "./base/clock.ts";
import { newIds, suffixOf } from "./base/ids.ts";
import { systemOpenFiles } from "./base/open-files.ts";
import { systemRandom } from "./base/random.ts";
import { VERSION } from "./base/version.ts";
import { openModels } from "./build/catalogue.ts";
import type { BuildContext, BuildOptions } from "./build/context.ts";
import { openSharedSettings } from "./build/deployment.ts";
import { limitsOf } from "./build/limits.ts";
import { openStartingListener } from "./build/listener.ts";
import { openProvider } from "./build/payments.ts";
import { openDeployment, openPlane } from "./build/plane.ts";
import { settingsOf } from "./build/settings.ts";
import { openStore } from "./build/store.ts";
import { openTracing } from "./build/tracing.ts";
import type { Missing, Tell } from "./build/waiting.ts";
import { type DatabaseClock, openDatabaseClock } from "./db/database-clock.ts";
import { startingHealth } from "./http/health.ts";
import { CATALOGUE_FILE, loadCatalogue } from "./metering/catalogue.ts";
import { type ServerSecrets, serverSecrets } from "./server-secrets.ts";
import { loadSecretCanaries } from "./trust/canaries.ts";

export interface BuiltGateway extends ServedGateway {
  /** Null when the store is not the private one. */
  postgresPid: number | null;
}

export async function build(options: BuildOptions): Promise<BuiltGateway> {
  const { config, development, clock: machine = systemClock, random = systemRandom() } = options;
  const gatewayId = suffixOf(newIds(machine, random)());
  const stack: Stop[] = [];
  const close = async (): Promise<void> => {
    for (let stop = stack.pop(); stop !== undefined; stop = stack.pop()) await stop();
  };
  // Lines of several gateways end up in one place.
  const log = options.log.child({ instance: gatewayId, version: VERSION });
  const onClose = (stop: Stop): void => void stack.push(stop);
  const time = openDatabaseClock({ machine, log, uncertaintyMsMax: config.clockUncertaintyMsMax });
  const { clock } = time;
  const newId = newIds(clock, random);
  const context: BuildContext = { ...options, log, clock, random, newId, gatewayId, onClose };
  const opened = await openPorts(context, time, close).catch(async (error) => {
    await close();
    throw error;
  });
  const { ports, postgresPid, ...known } = opened;
  const gateway = await assemble(
    ports,
    settingsOf({ config, development, upkeep: options.worker?.hasUpkeep ?? true, ...known }),
  );
  return { ...gateway, postgresPid };
}

async function openPorts(context: BuildContext, time: DatabaseClock, close: () => Promise<void>) {
  const { config, clock, random, newId, gatewayId, log } = context;
  // Read once before anything is started, so that a mistake in them leaves nothing to clean up.
  const listed = await loadCatalogue(config.catalogueFile ?? CATALOGUE_FILE);
  const secretCanaries = await loadSecretCanaries(config.canariesFile, listed);
  const tracing = await openTracing(context);
  let missing: Missing | undefined;
  const tellMissing: Tell = (now) => {
    missing = now;
  };
  const listener = await openStartingListener(
    context,
    startingHealth(() => missing),
  );
  const { pid: postgresPid, ...store } = await openStore(context, time, tellMissing);
  const secrets: ServerSecrets = await serverSecrets(config);
  const shared = await openSharedSettings(context, { store, secrets }, tellMissing);
  const models = await openModels(context, store);
  const plane = await openPlane(context, secrets);
  const deployment = openDeployment(context, { pool: store.pool, plane }).then(async (id) => {
    await shared.belongs();
    return id;
  });
  // Awaited by `assemble`; should another step fail before, its own error is the one to tell.
  deployment.catch(() => undefined);
  const ports: Ports & { listener: Listener } = {
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
    limits: limitsOf(context),
    spool: { directory: config.spoolDir, root: context.worker?.spoolRoot },
    files: systemOpenFiles(),
    mail: mailOf(context),
    payments: await openProvider(context),
    listener,
    close,
  };
  return { ports, postgresPid, secrets, secretCanaries };
}

function mailOf({ config, development = false, log }: BuildContext): Mail | undefined {
  if (config.mail !== undefined) return smtpMail(config.mail);
  return development ? developmentMail(log) : undefined;
}
