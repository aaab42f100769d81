/**
 * `tollgate admin backup --to DIR`: backs up the files that the gateway needs and the database does not contain. The
 * database itself is backed up with PostgreSQL's tools. The command lists anything else that is missing, and where to
 * find it.
 */
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { CommandError, UsageError } from "@tollgate/terminal/errors.ts";
import { VERSION } from "../../base/version.ts";
import type { Config } from "../../config.ts";
import { readBundledSql } from "../../db/bundled-sql.ts";
import { readSchemaStatus } from "../../db/schema-status.ts";
import { deriveReceiptKey } from "../../history/receipts.ts";
import { computeFingerprint } from "../../keys/peppers.ts";
import { openAudit } from "../../operators/audit.ts";
import { openDeploymentRecord } from "../../plane/deployment/deployment-record.ts";
import { loadServerSecrets, type ServerSecrets } from "../../server-secrets.ts";
import { type AdminCommand, type AdminRun, COMMAND_LINE_ACTOR } from "./admin-run.ts";
import { listFilesBelow, SECRETS_FILE, SETTINGS_FILE, SPOOL_FOLDER, writeBackup } from "./backup-folder.ts";

export const backupCommand: AdminCommand = {
  help: "back up a gateway's files outside the database: secrets, catalogue, spools",
  flags: {
    to: { value: "DIR", required: true, help: "the folder to create; it will contain secrets" },
    plane: { value: "DIR", help: "also save this folder, which tollgate admin plane init created" },
  },
  more: [
    "Run this command on a gateway's machine, with the gateway's environment variables. Back up the database first.",
  ],
  example: "--to /backup/2026-11-16 --plane /etc/tollgate/plane",
  run,
};

async function run(run: AdminRun): Promise<number> {
  const { config, pool, clock } = run;
  const { to = "", plane } = run.flags;
  if (to === "") throw new UsageError("--to must name the folder to create");
  run.terminal.progress.step("collecting the files");
  const secrets = await loadServerSecrets(config);
  const { migrations } = await readBundledSql({});
  const { schema } = await readSchemaStatus(pool, migrations);
  const { id: deployment } = await openDeploymentRecord(run).read();
  const files = await collect(config, secrets, plane);
  const facts = {
    made_at: new Date(clock.now()).toISOString(),
    software: VERSION,
    deployment,
    schema,
    pepper: computeFingerprint(secrets.pepper),
    receipt_key: deriveReceiptKey(Buffer.from(secrets.receiptSeed, "base64url")).keyId,
    not_taken: notTaken(config, plane),
  };
  const folder = resolve(to);
  const act = { operator: COMMAND_LINE_ACTOR, action: "backup.take", subject: deployment };
  const manifest = await openAudit(run).record(act, () => writeBackup(folder, files, facts));
  if (run.json) {
    run.print(JSON.stringify({ folder, ...manifest }, null, 2));
    return 0;
  }
  run.print(
    [
      `Wrote these files to ${folder}; only their owner can read them:`,
      ...manifest.files.map(({ name, bytes }) => `  ${name} (${bytes} bytes)`),
      "",
      "This backup does not contain the following; save these too:",
      ...manifest.not_taken.map(({ what, from }) => `  ${what}: ${from}`),
    ].join("\n"),
  );
  return 0;
}

async function collect(
  config: Config,
  secrets: ServerSecrets,
  plane: string | undefined,
): Promise<Map<string, Buffer>> {
  const files = new Map<string, Buffer>();
  files.set(SECRETS_FILE, Buffer.from(`${JSON.stringify(secretsFile(secrets), null, 2)}\n`));
  const settings = Object.entries(settingsOf(config, secrets)).filter((pair) => pair[1] !== undefined);
  files.set(SETTINGS_FILE, Buffer.from(settings.map(([name, value]) => `${name}=${value}\n`).join("")));
  if (config.catalogueFile !== undefined) files.set("catalogue.json", await readFile(config.catalogueFile));
  if (config.canariesFile !== undefined) files.set("canaries.json", await readFile(config.canariesFile));
  await addFolder(files, config.spoolDir, SPOOL_FOLDER);
  if (plane !== undefined) await addFolder(files, plane, "plane");
  return files;
}

const NOT_TAKEN = /(^|\/)history\.json|\.(requests|changes)$/;

async function addFolder(files: Map<string, Buffer>, folder: string, as: string): Promise<void> {
  const names = await listFilesBelow(folder).catch((cause: NodeJS.ErrnoException) => {
    // The spool folder does not exist before a gateway's first start.
    if (cause.code === "ENOENT" && as === SPOOL_FOLDER) return [];
    throw new CommandError(`${folder} cannot be read (${cause.code})`, {
      next: "check that this folder exists, and that this user may read it",
      cause,
    });
  });
  for (const name of names) {
    // Skips the recorded history and the journals of this database. They do not apply to a restored database, which
    // begins a new history.
    if (as === SPOOL_FOLDER && NOT_TAKEN.test(name)) continue;
    const bytes = await readFile(join(folder, name)).catch((error: NodeJS.ErrnoException) => {
      // The file is gone: the gateway removes a spool file once all its settlements are in the ledger.
      if (error.code === "ENOENT") return undefined;
      throw error;
    });
    if (bytes !== undefined) files.set(`${as}/${name}`, bytes);
  }
}

/**
 * Has the format of the secrets file in the data directory, so that a restore can copy it there. Includes secrets from
 * the environment.
 */
const secretsFile = ({ pepper, pepperOld, receiptSeed, planeSeed, planeSeedOld }: ServerSecrets) => ({
  key_pepper: pepper,
  key_pepper_old: pepperOld,
  receipt_seed: receiptSeed,
  plane_seed: planeSeed,
  plane_seed_old: planeSeedOld,
});

/** The secrets that cannot be generated again, as environment variables. */
const settingsOf = (config: Config, secrets: ServerSecrets): Record<string, string | undefined> => ({
  KEY_PEPPER: secrets.pepper,
  KEY_PEPPER_OLD: secrets.pepperOld,
  KEY_PEPPER_NEXT: secrets.pepperNext,
  SESSION_SECRET: config.sessionSecret,
  SESSION_SECRET_OLD: config.sessionSecretOld,
  SESSION_SECRET_NEXT: config.sessionSecretNext,
  RECEIPT_SEED: secrets.receiptSeed,
  PLANE_SEED: config.plane.nats === undefined ? secrets.planeSeed : config.plane.seed,
  PLANE_SEED_OLD: secrets.planeSeedOld,
  PLANE_SIGNING_SEED: config.plane.signingSeeds.join(",") || undefined,
  PLANE_ACCOUNT: config.plane.account,
  NATS_URL: config.plane.nats?.url,
  NATS_OPERATOR_SEED: config.plane.nats?.operatorSeed,
  NATS_SYSTEM_JWT: config.plane.nats?.system.jwt,
  NATS_SYSTEM_SEED: config.plane.nats?.system.seed,
});

function notTaken({ databaseUrl, plane, payments, mail, tls, oidcProviders }: Config, planeFolder: string | undefined) {
  const left: [what: string, from: string, isThere: boolean][] = [
    [
      "the database",
      databaseUrl === undefined
        ? "stop the gateway, and copy the folder of its private PostgreSQL in DATA_DIR"
        : "use pg_dump, or a base backup with its WAL",
      true,
    ],
    ["all settings of the gateway except the secrets that are named below", "in your deployment files", true],
    ["the spools of other gateways", "run this command on the machine of each gateway", databaseUrl !== undefined],
    [
      "the NATS servers' configuration, operator.seed and certificates",
      "in the folder that tollgate admin plane init created; --plane DIR includes it",
      plane.nats !== undefined && planeFolder === undefined,
    ],
    ["certificates of TLS_CERT and PLANE_TLS_CERT", "from their issuer", (tls ?? plane.tls) !== undefined],
    ["STRIPE_SECRET_KEY, STRIPE_WEBHOOK_SECRET", "Stripe's dashboard", payments !== undefined],
    ["SMTP_URL", "the mail provider", mail !== undefined],
    ["OIDC_PROVIDERS", "the providers' consoles", oidcProviders.length > 0],
  ];
  return left.filter(([, , isThere]) => isThere).map(([what, from]) => ({ what, from }));
}
