/** Compares this gateway's values of the shared settings with the values recorded for the deployment. */
import type pg from "pg";
import type { DatabaseAccess } from "../assemble/port-interfaces.ts";
import type { Config } from "../config.ts";
import { DEPLOYMENT_TOPIC } from "../db/broadcast.ts";
import { compareSharedSettings, type GatewaySettings } from "../db/deployment/compare-settings.ts";
import { hashSecretForComparison, matchesSecretHash } from "../db/deployment/secret-hash.ts";
import { type GatewaySetting, makePlainSetting, VALKEY_WITHOUT_ID } from "../db/deployment/setting-rules.ts";
import {
  SHARED_SETTINGS_MIGRATION,
  type StoredSetting,
  type StoredSettings,
} from "../db/deployment/shared-settings-record.ts";
import {
  logSettingChanges,
  SettingsDifferError,
  type SharedSettings,
  watchSharedSettings,
} from "../db/deployment/watch-settings.ts";
import { deriveReceiptKey } from "../history/receipts.ts";
import type { ValkeyServer } from "../limits/valkey-server.ts";
import { keyFromSeed } from "../plane/credentials/nkeys.ts";
import type { ServerSecrets } from "../server-secrets.ts";
import type { BuildContext } from "./build-context.ts";
import { type ReportMissing, waitUntilSettingsMatchDeployment } from "./wait-for-dependencies.ts";

interface GatewaySettingsOptions {
  config: Config;
  secrets: ServerSecrets;
  /** Creates IDs for limits servers that have none. Undefined: nothing is written. */
  newId: (() => string) | undefined;
}

export interface GatewaySettingsContext {
  tell: (stored: StoredSettings) => Promise<GatewaySettings>;
  close: () => void;
}

/** Reads this gateway's values of the shared settings. Contacts no server except the limits server. */
export async function openGatewaySettings({
  config,
  secrets,
  newId,
}: GatewaySettingsOptions): Promise<GatewaySettingsContext> {
  const server = await serverOf(config);
  const limits = server === undefined ? async () => makePlainSetting("memory") : limitsOn(server, newId);
  const still: GatewaySettings = {
    pepper: pepperOf(secrets),
    ...(!config.plane.absent && { plane: makePlainSetting(planeOf(config)) }),
    receipts: makePlainSetting(deriveReceiptKey(Buffer.from(secrets.receiptSeed, "base64url")).keyId),
    mail: makePlainSetting(config.mail === undefined ? "none" : "smtp"),
    payments: makePlainSetting(paymentsOf(config)),
  };
  return {
    async tell(stored) {
      const its = await limits(stored.limits);
      return { ...still, ...(its !== undefined && { limits: its }) };
    },
    close: () => server?.close(),
  };
}

async function serverOf({ valkeyUrl: url }: Config): Promise<ValkeyServer | undefined> {
  if (url === undefined) return undefined;
  // Loaded on demand, because most commands and gateways do not use a Valkey server.
  const { openValkeyServer } = await import("../limits/valkey-server.ts");
  return openValkeyServer(url);
}

const pepperOf = ({ pepper, pepperOld, pepperNext }: ServerSecrets): GatewaySetting => ({
  written: () => hashSecretForComparison(pepper),
  is: (recorded) => matchesSecretHash(recorded, pepper),
  replaces: (recorded) => pepperOld !== undefined && matchesSecretHash(recorded, pepperOld),
  isAlone: pepperOld === undefined && pepperNext === undefined,
});

function planeOf({ plane: { nats, seed, account } }: Config): string {
  if (nats === undefined) return "embedded";
  return `nats ${seed === undefined ? account : keyFromSeed(seed, "account").publicKey}`;
}

function paymentsOf({ payments }: Config): string {
  if (payments === undefined) return "none";
  return payments.secretKey.split("_")[1] as string;
}

/**
 * Identifies the limits server by an ID that is stored on it. If the server loses its data, a running gateway that has
 * read the ID stores the same ID again. Resolves to undefined while the server is unreachable.
 */
function limitsOn(server: ValkeyServer, newId: (() => string) | undefined) {
  let seen: string | undefined;
  /** Resolves to null if the server has no ID and is not the recorded one. */
  const claim = async (stored: StoredSetting | undefined): Promise<string | null | undefined> => {
    const [, recorded] = stored?.value.split("valkey ") ?? [];
    if (seen === undefined && recorded !== undefined && stored?.isConfirmed === true) return null;
    if (newId !== undefined) return await server.claimId(seen ?? recorded ?? newId());
    // If a server is recorded, this server without an ID may be that one after it lost its data. If the record says
    // that limits are counted in memory, this server cannot be the recorded one.
    return recorded === undefined ? null : undefined;
  };
  return async (stored: StoredSetting | undefined): Promise<GatewaySetting | undefined> => {
    try {
      const id = (await server.readId()) ?? (await claim(stored));
      if (id === undefined) return undefined;
      if (id === null) return makePlainSetting(VALKEY_WITHOUT_ID);
      seen = id;
      return makePlainSetting(`valkey ${id}`);
    } catch {
      // Not logged here, because the connection of the limits reports the outage.
      return undefined;
    }
  };
}

type Needs = { store: Pick<DatabaseAccess, "broadcast" | "schema"> & { pool: pg.Pool }; secrets: ServerSecrets };

/** Waits until the settings match. Does not wait if the database is too old to store shared settings. */
export async function openSharedSettings(
  context: BuildContext,
  needs: Needs,
  tell: ReportMissing,
): Promise<SharedSettings> {
  const { config, newId, clock, log, onClose } = context;
  const { store, secrets } = needs;
  const { pool, broadcast, schema } = store;
  const own = await openGatewaySettings({ config, secrets, newId });
  onClose(() => own.close());
  const isOnly = config.databaseUrl === undefined;
  const compare = ({ records }: { records: boolean }) =>
    compareSharedSettings({ pool, own: own.tell, isOnly, records });
  const isThere = (): boolean => schema.number >= SHARED_SETTINGS_MIGRATION;
  if (isThere()) {
    await waitUntilSettingsMatchDeployment(context, tell, async () => {
      const compared = await compare({ records: false });
      logSettingChanges(log, compared);
      if (compared.differences.length > 0) throw new SettingsDifferError(compared.differences);
    });
  }
  const nothing = { differences: [], behind: [], changes: [] };
  const watched = watchSharedSettings({
    compare: async (how) => (isThere() ? await compare(how) : nothing),
    clock,
    log,
  });
  onClose(() => watched.stop());
  broadcast.on(DEPLOYMENT_TOPIC, () => void watched.look());
  void schema.reached(SHARED_SETTINGS_MIGRATION).then(() => watched.look());
  return watched;
}
