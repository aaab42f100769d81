/**
 * `tollgate admin secrets`: shows the progress of replacing a secret, and when the old one can be removed. `secrets
 * rotate` replaces secrets in the data directory. Secrets in the environment are replaced there.
 */

import { CommandError } from "@tollgate/terminal/errors.ts";
import { formatProperties } from "@tollgate/terminal/table-format.ts";
import { openSecretReencryption } from "../../accounts/secret-reencryption.ts";
import type { RotatingSecret } from "../../base/rotating-secret.ts";
import { listOtherSecrets } from "../../base/rotating-secret.ts";
import { deriveSessionSecrets } from "../../build/build-context.ts";
import type { Config } from "../../config.ts";
import { deriveReceiptKey, listPublishedKeys } from "../../history/receipts.ts";
import { computeFingerprint, countPepperUsage, hasPepperColumns, type PepperUsage } from "../../keys/peppers.ts";
import { openAudit } from "../../operators/audit.ts";
import { keyFromSeed } from "../../plane/credentials/nkeys.ts";
import {
  loadServerSecrets,
  removeReplacedSecret,
  replaceStoredSecret,
  type ServerSecrets,
  type StoredSecretName,
} from "../../server-secrets.ts";
import { type AdminCommand, type AdminRun, COMMAND_LINE_ACTOR } from "./admin-run.ts";

/** The exit code while something still depends on an old secret. */
const NOT_YET = 3;
const KEPT: readonly StoredSecretName[] = ["pepper", "plane", "receipts"];
const REPLACED = ["pepper", "plane"] as const;

export const secretRotationCommands: Record<string, AdminCommand> = {
  secrets: {
    help: "show which secrets are being replaced, and whether the old ones are still needed (exit code 3 if so)",
    more: ["Run this command with the gateways' environment variables: KEY_PEPPER, KEY_PEPPER_OLD and the rest."],
    example: "--json",
    run: show,
  },
  "secrets rotate": {
    help: "replace a secret stored in the data directory; gateways use the new one from their next start",
    args: { SECRET: { help: KEPT.join(", "), oneOf: KEPT } },
    example: "pepper",
    run: rotate,
  },
  "secrets forget": {
    help: "remove the old secret after a rotation",
    args: { SECRET: { help: REPLACED.join(" or "), oneOf: REPLACED } },
    flags: { force: { help: "remove the old secret even if keys still need it; these keys stop working" } },
    example: "pepper",
    run: forget,
  },
};

interface Left {
  keys: PepperUsage;
  hostTokens: PepperUsage;
  secondFactors: number;
}

/** Counts what would stop working without the old pepper and the old session secret. */
async function leftOf({ pool }: AdminRun, secrets: ServerSecrets, session: RotatingSecret): Promise<Left> {
  if (!(await hasPepperColumns(pool)))
    throw new CommandError("this database was migrated by an older version, which does not record peppers", {
      next: "tollgate migrate",
    });
  const { pepper } = secrets;
  return {
    keys: await countPepperUsage(pool, "api_key", pepper),
    hostTokens: await countPepperUsage(pool, "host_token", pepper),
    secondFactors: await openSecretReencryption({
      pool,
      secret: session.current,
      others: listOtherSecrets(session),
    }).others(),
  };
}

async function show(run: AdminRun): Promise<number> {
  const { config, pool } = run;
  const secrets = await loadServerSecrets(config);
  const session = deriveSessionSecrets(config, secrets);
  const left = await leftOf(run, secrets, session);
  const isOld = secrets.pepperOld !== undefined;
  const isNeeded =
    (isOld && left.keys.unseen + left.hostTokens.unseen > 0) || (session.old !== undefined && left.secondFactors > 0);
  const { keyId } = deriveReceiptKey(Buffer.from(secrets.receiptSeed, "base64url"));
  const published = await listPublishedKeys(pool);
  const told = {
    pepper: {
      fingerprint: computeFingerprint(secrets.pepper),
      ...replacing({ old: secrets.pepperOld, next: secrets.pepperNext }, computeFingerprint),
      ...(isOld && { api_keys: counted(left.keys), host_tokens: counted(left.hostTokens) }),
    },
    session: {
      from: config.sessionSecret === undefined ? "pepper" : "SESSION_SECRET",
      replacing: stateOf(session),
      ...(session.old !== undefined && { second_factors_left: left.secondFactors }),
    },
    receipts: { key_id: keyId, published: published.length },
    plane: {
      account: config.plane.account ?? (secrets.planeSeed === undefined ? null : accountOf(secrets.planeSeed)),
      signed_by: config.plane.signingSeeds.map(accountOf),
      old_account: secrets.planeSeedOld === undefined ? null : accountOf(secrets.planeSeedOld),
    },
    old_needed: isNeeded,
  };
  run.print(run.json ? JSON.stringify(told, null, 2) : sentences(told, left, run));
  return isNeeded ? NOT_YET : 0;
}

const accountOf = (seed: string): string => keyFromSeed(seed, "account").publicKey;
const stateOf = ({ old, next }: { old?: string | undefined; next?: string | undefined }): "old" | "next" | null =>
  old !== undefined ? "old" : next !== undefined ? "next" : null;
const counted = ({ total, unseen, unseenInUse }: PepperUsage) => ({ total, unseen, unseen_in_use: unseenInUse });

function replacing(
  secret: { old: string | undefined; next: string | undefined },
  shown: (secret: string) => string,
): { replacing: "old" | "next" | null; other?: string } {
  const other = secret.old ?? secret.next;
  return { replacing: stateOf(secret), ...(other !== undefined && { other: shown(other) }) };
}

function sentences(
  told: {
    pepper: { fingerprint: string; replacing: string | null; other?: string };
    session: { from: string; replacing: string | null };
    receipts: { key_id: string; published: number };
    plane: { account: string | null; signed_by: string[]; old_account: string | null };
    old_needed: boolean;
  },
  left: Left,
  { config: { plane }, terminal }: AdminRun,
): string {
  const { pepper, session, receipts } = told;
  const beside = { old: "in place of", next: "to be replaced by" };
  const isOld = pepper.replacing === "old";
  const unseen = ({ total, unseen: count, unseenInUse }: PepperUsage): string =>
    `${count} of ${total} not used since${count === 0 ? "" : `, ${unseenInUse} of these used in the last 30 days`}`;
  const lines = formatProperties(
    {
      Pepper: `${pepper.fingerprint}${pepper.replacing === null ? "" : `, ${beside[pepper.replacing as "old"]} ${pepper.other}`}`,
      "API keys": isOld ? unseen(left.keys) : undefined,
      "Host tokens": isOld ? unseen(left.hostTokens) : undefined,
      Sessions: `signed with ${session.from === "pepper" ? "a key derived from the pepper" : session.from}${
        session.replacing === "old" ? ", and the one before it: keep that for 7 days" : ""
      }`,
      "Second factors":
        session.replacing === "old" ? `${left.secondFactors} are still encrypted with the old secret` : undefined,
      Receipts: `${receipts.key_id}; ${receipts.published} ${receipts.published === 1 ? "key" : "keys"} published`,
      Plane: told.plane.account ?? "no account key yet: the first gateway that starts creates one",
      "Signed by": told.plane.signed_by.join(", "),
      "Plane before":
        told.plane.old_account === null
          ? undefined
          : `${told.plane.old_account}; keep this old plane key for ${plane.credentialTtlMs / 1000} s after the restart`,
    },
    terminal,
  );
  const isReplacing = isOld || session.replacing === "old";
  const verdict = told.old_needed
    ? "\n\nThe old secret is still needed: do not remove it."
    : "\n\nThe old secret is no longer needed.";
  return `${lines}${isReplacing ? verdict : ""}`;
}

const VARIABLES: Record<StoredSecretName, (config: Config) => string | undefined> = {
  pepper: ({ keyPepper }) => (keyPepper === undefined ? undefined : "KEY_PEPPER"),
  plane: ({ plane: { seed } }) => (seed === undefined ? undefined : "PLANE_SEED"),
  receipts: ({ receiptSeed }) => (receiptSeed === undefined ? undefined : "RECEIPT_SEED"),
};

function keptSecret({ args, config }: AdminRun): StoredSecretName {
  const which = args[0] as StoredSecretName;
  const variable = VARIABLES[which](config);
  if (variable !== undefined) {
    throw new CommandError(`${variable} is set, so this secret is not in the data directory`, {
      next: `replace the secret where ${variable} is set (docs/operators/secrets.md)`,
    });
  }
  return which;
}

async function rotate(run: AdminRun): Promise<number> {
  const which = keptSecret(run);
  // Creates the secrets if the platform has never started.
  await loadServerSecrets(run.config);
  const act = { operator: COMMAND_LINE_ACTOR, action: "secret.rotate", subject: which };
  await openAudit(run).record(act, () => replaceStoredSecret(run.config.dataDir, which));
  const next =
    which === "receipts"
      ? "restart the gateway; old receipts stay verifiable"
      : `restart the gateway. When tollgate admin secrets shows that the old secret is no longer needed, run tollgate admin secrets forget ${which}`;
  run.print(run.json ? JSON.stringify({ rotated: which, next }) : `Replaced. Next: ${next}`);
  return 0;
}

async function forget(run: AdminRun): Promise<number> {
  const which = keptSecret(run) as (typeof REPLACED)[number];
  const secrets = await loadServerSecrets(run.config);
  if (which === "pepper" && secrets.pepperOld !== undefined && !run.switches.has("force")) {
    const { keys, hostTokens, secondFactors } = await leftOf(run, secrets, deriveSessionSecrets(run.config, secrets));
    const parts = [`${keys.unseen} API keys`, `${hostTokens.unseen} host tokens`, `${secondFactors} second factors`];
    if (keys.unseen + hostTokens.unseen + secondFactors > 0) {
      throw new CommandError(`${parts.join(", ")} still need the old pepper and would stop working without it`, {
        next: "wait until each of these has been used once more, or add --force, which makes them stop working",
      });
    }
  }
  const act = { operator: COMMAND_LINE_ACTOR, action: "secret.forget", subject: which };
  const isDone = await openAudit(run).record(act, () => removeReplacedSecret(run.config.dataDir, which));
  if (!isDone)
    throw new CommandError(`no old secret is stored for "${which}"`, {
      next: "tollgate admin secrets lists the secrets that are being replaced",
    });
  run.print(
    run.json
      ? JSON.stringify({ forgotten: which })
      : "Removed the old secret. The gateway accepts the old secret until you restart the gateway.",
  );
  return 0;
}
