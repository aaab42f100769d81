/** Secrets in files, as orchestrators and systemd hand them out: NAME_FILE names a file whose text is the value of NAME. */
import { readFileSync } from "node:fs";

/** What must not stand in an environment that others may read. */
const SECRETS = [
  "DATABASE_URL",
  "VALKEY_URL",
  "KEY_PEPPER",
  "KEY_PEPPER_OLD",
  "KEY_PEPPER_NEXT",
  "SESSION_SECRET",
  "SESSION_SECRET_OLD",
  "SESSION_SECRET_NEXT",
  "PLANE_SEED",
  "PLANE_SEED_OLD",
  "PLANE_SIGNING_SEED",
  "NATS_OPERATOR_SEED",
  "NATS_SYSTEM_JWT",
  "NATS_SYSTEM_SEED",
  "RECEIPT_SEED",
  "SMTP_URL",
  "OIDC_PROVIDERS",
  "STRIPE_SECRET_KEY",
  "STRIPE_WEBHOOK_SECRET",
];

export const SECRET_FILES: string[] = SECRETS.map((name) => `${name}_FILE`);

interface Settled {
  variables: Record<string, string>;
  mistakes: string[];
}

/** The variables with what their files say. A file may end with a line feed, as editors write them. */
export function withSecretFiles(variables: Record<string, string>): Settled {
  const read: Record<string, string> = {};
  const mistakes: string[] = [];
  for (const name of SECRETS) {
    const file = variables[`${name}_FILE`];
    if (file === undefined) continue;
    if (variables[name] !== undefined) {
      mistakes.push(`${name} and ${name}_FILE must not both be set`);
      continue;
    }
    try {
      read[name] = readFileSync(file, "utf8").replace(/\r?\n$/, "");
    } catch (error) {
      mistakes.push(`${name}_FILE: ${file} cannot be read (${(error as NodeJS.ErrnoException).code})`);
      continue;
    }
    if (read[name] === "") mistakes.push(`${name}_FILE: ${file} is empty`);
  }
  return { variables: { ...variables, ...read }, mistakes };
}
