/** Checks whether this gateway's settings match the deployment's shared settings. Writes nothing. */
import { type CheckResult, failedCheck, passedCheck, warningCheck } from "@tollgate/terminal/check-results.ts";
import type pg from "pg";
import { readIfExists } from "../../base/read-if-exists.ts";
import { openGatewaySettings } from "../../build/shared-settings.ts";
import type { Config } from "../../config.ts";
import type { GatewaySettings } from "../../db/deployment/compare-settings.ts";
import {
  describeDifference,
  judgeSetting,
  SHARED_SETTING_NAMES,
  SHARED_SETTING_VARIABLES,
} from "../../db/deployment/setting-rules.ts";
import {
  hasSharedSettings,
  readSharedSettings,
  type StoredSettings,
} from "../../db/deployment/shared-settings-record.ts";
import { loadServerSecrets, secretsFileIn } from "../../server-secrets.ts";

export async function* deploymentChecks(pool: pg.Pool, config: Config): AsyncGenerator<CheckResult> {
  const stored = (await hasSharedSettings(pool)) ? await readSharedSettings(pool) : {};
  if (Object.keys(stored).length === 0) {
    yield passedCheck("deployment", "no gateway has recorded the shared settings yet");
    return;
  }
  const own = await ownOf(config, stored);
  if (own.receipts === undefined)
    yield warningCheck(
      "deployment",
      "RECEIPT_SEED is not set, and DATA_DIR contains no receipt seed",
      "set RECEIPT_SEED to the other gateways' value",
    );
  const found = SHARED_SETTING_NAMES.flatMap((name): CheckResult[] => {
    const [recorded, its] = [stored[name], own[name]];
    if (recorded === undefined || its === undefined) return [];
    if (judgeSetting(recorded, its) === "differs") {
      const { what, remedy } = describeDifference(name, recorded, its);
      return [failedCheck("deployment", what, remedy)];
    }
    if (recorded.previous === null || its.replaces?.(recorded.previous) === true) return [];
    return [
      warningCheck(
        "deployment",
        `${SHARED_SETTING_VARIABLES[name]} is being changed`,
        `when every gateway has the new value, run tollgate admin deployment finish ${name}`,
      ),
    ];
  });
  yield* found.length > 0
    ? found
    : [passedCheck("deployment", "this gateway's shared settings are the same as the other gateways'")];
}

async function ownOf(config: Config, stored: StoredSettings): Promise<GatewaySettings> {
  const { keyPepper = "", keyPepperOld: pepperOld, keyPepperNext: pepperNext, receiptSeed = "" } = config;
  const isKept = (await readIfExists(secretsFileIn(config.dataDir))) !== undefined;
  // Missing secrets are not created here, because the gateway creates them at its first start.
  const secrets = isKept
    ? await loadServerSecrets(config)
    : {
        ...{
          pepper: keyPepper,
          pepperOld,
          pepperNext,
          receiptSeed: receiptSeed || Buffer.alloc(32).toString("base64url"),
        },
        ...{ planeSeed: config.plane.seed, planeSeedOld: config.plane.seedOld, keepPlaneSeed: async () => {} },
      };
  const { tell, close } = await openGatewaySettings({ config, secrets, newId: undefined });
  try {
    const { receipts, ...own } = await tell(stored);
    return { ...own, ...((isKept || receiptSeed !== "") && receipts !== undefined && { receipts }) };
  } finally {
    close();
  }
}
