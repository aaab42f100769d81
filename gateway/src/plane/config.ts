/**
 * The settings of the dispatch plane: the addresses of the embedded hub or of NATS servers, and the keys that sign
 * credentials.
 */
import type { CertificateFiles } from "../base/certificate.ts";
import {
  declareSettings,
  type EnvironmentVariables,
  findRotationMistakes,
  findUnpairedVariable,
  flagSetting,
  numberSetting,
  portSetting,
  textSetting,
} from "../base/settings.ts";

const ADDRESSES = /^(nats|tls):\/\/[^\s,@/]+(,(nats|tls):\/\/[^\s,@/]+)*$/;

const seed = (letter: string, whose: string) => ({
  matches: new RegExp(`^S${letter}[A-Z2-7]{56}$`),
  rule: `be an nkey ${whose} seed (S${letter}…)`,
  secret: true,
});

interface PlaneConfig {
  /** The gateway runs without a plane, so no node can work for it. */
  absent: boolean;
  /** The address that nodes connect to, if it differs from the address that the gateway uses. */
  publicUrl: string | undefined;
  /** The seed of the key that signs credentials. Undefined: a seed in the data directory. */
  seed: string | undefined;
  /** The previous seed. Credentials that it signed stay valid until they expire. */
  seedOld: string | undefined;
  /** On NATS servers only: the account's public key, and signing keys to use instead of the account's own. */
  account: string | undefined;
  signingSeeds: string[];
  credentialTtlMs: number;
  /** The address of the embedded hub, and its certificate files. Undefined: the address and certificate of the API. */
  host: string | undefined;
  port: number;
  tls: CertificateFiles | undefined;
  /** NATS servers to use instead of the embedded hub. */
  nats: { url: string; operatorSeed: string; system: { jwt: string; seed: string } } | undefined;
}

/** The other variables that a plane on NATS requires. `tollgate admin plane init` writes all of them. */
const BESIDE_NATS_URL = ["PLANE_SEED", "NATS_OPERATOR_SEED", "NATS_SYSTEM_JWT", "NATS_SYSTEM_SEED"] as const;

function natsMistakes(variables: EnvironmentVariables): string[] {
  const { NATS_URL, PLANE_SEED, PLANE_SEED_OLD, PLANE_SIGNING_SEED, PLANE_ACCOUNT } = variables;
  if (NATS_URL === undefined) {
    return PLANE_SIGNING_SEED === undefined
      ? []
      : ["NATS_URL must be set when PLANE_SIGNING_SEED is set: the embedded dispatch plane has no signing keys"];
  }
  const isSigned = PLANE_SIGNING_SEED !== undefined && PLANE_ACCOUNT !== undefined;
  const missing = BESIDE_NATS_URL.filter(
    (name) => variables[name] === undefined && !(name === "PLANE_SEED" && isSigned),
  );
  const mistakes = missing.map(
    (name) => `${name} must be set when NATS_URL is set (tollgate admin plane init creates it)`,
  );
  if (PLANE_SEED !== undefined && PLANE_ACCOUNT !== undefined) {
    mistakes.push("PLANE_SEED and PLANE_ACCOUNT must not both be set: PLANE_ACCOUNT replaces PLANE_SEED");
  }
  if (PLANE_SEED_OLD !== undefined) {
    mistakes.push(
      "PLANE_SEED_OLD must not be set when NATS_URL is set: on NATS servers the seed stays the same, and PLANE_SIGNING_SEED is replaced instead",
    );
  }
  return mistakes;
}

export const planeSettings = declareSettings({
  title: "Dispatch plane",
  settings: {
    PLANE: flagSetting(["on", "off"], {
      default: true,
      help: "`off` runs a gateway without nodes, which serves only the console and the ledger.",
    }),
    PLANE_HOST: textSetting({
      without: "`HOST`",
      help: "Address on which nodes connect to the embedded dispatch plane.",
    }),
    PLANE_PORT: portSetting({ default: 4222, help: "Port on which nodes connect to the embedded dispatch plane." }),
    PLANE_TLS_CERT: textSetting({
      help: "PEM file with the certificate of the embedded dispatch plane, which then uses TLS only.",
      see: "[TLS](high-availability.md#tls)",
    }),
    PLANE_TLS_KEY: textSetting({ help: "PEM file with the key of `PLANE_TLS_CERT`." }),
    PLANE_PUBLIC_URL: textSetting({
      matches: /^(nats|tls):\/\//,
      rule: "begin with nats:// or tls://",
      without: "from host and port, or `NATS_URL`",
      help: "Address that nodes connect to, or several separated by commas.",
    }),
    PLANE_CREDENTIAL_TTL_S: numberSetting({
      ...{ default: 3_600, unit: "s", min: 5, max: 86_400 },
      help: "Lifetime of a node's credentials; the agent renews them in time.",
    }),
    PLANE_SEED: textSetting({
      ...seed("A", "account"),
      without: "generated and kept in `DATA_DIR`",
      help: "Key that signs nodes' credentials, required when `NATS_URL` is set.",
    }),
    PLANE_SEED_OLD: textSetting({
      ...seed("A", "account"),
      help: "The previous seed, while `PLANE_SEED` of the embedded dispatch plane is being replaced; credentials signed with it stay valid until they expire.",
      see: "[Secrets](secrets.md)",
    }),
    PLANE_SIGNING_SEED: textSetting({
      matches: /^SA[A-Z2-7]{56}(,SA[A-Z2-7]{56})*$/,
      rule: "be an nkey account seed (SA…), or several separated by commas",
      secret: true,
      help: "Signing keys for NATS servers, used instead of `PLANE_SEED`: the first one signs new credentials, and those signed by the others stay valid.",
      see: "[Secrets](secrets.md)",
    }),
    PLANE_ACCOUNT: textSetting({
      matches: /^A[A-Z2-7]{55}$/,
      rule: "be the public key of an account (A…)",
      help: "Public key of the NATS account, only for gateways that have `PLANE_SIGNING_SEED` but not `PLANE_SEED`.",
    }),
    NATS_URL: textSetting({
      matches: ADDRESSES,
      rule: "be nats://HOST:PORT or tls://HOST:PORT, several separated by commas",
      without: "the embedded dispatch plane",
      help: "NATS servers that several gateways share.",
      see: "[NATS](nats.md)",
    }),
    NATS_OPERATOR_SEED: textSetting({
      ...seed("O", "operator"),
      help: "Key of the NATS operator, required when `NATS_URL` is set; `tollgate admin plane init` writes it.",
    }),
    NATS_SYSTEM_JWT: textSetting({
      matches: /^[\w-]+\.[\w-]+\.[\w-]+$/,
      rule: "be the JWT of a user of the system account",
      secret: true,
      help: "Credentials for the system account, required when `NATS_URL` is set; `tollgate admin plane init` writes them.",
    }),
    NATS_SYSTEM_SEED: textSetting({
      ...seed("U", "user"),
      help: "Key of `NATS_SYSTEM_JWT`, required when `NATS_URL` is set; `tollgate admin plane init` writes it.",
    }),
  },
  mistakes: (variables) => [
    ...findRotationMistakes("PLANE_SEED", variables),
    ...natsMistakes(variables),
    ...findUnpairedVariable(variables, "PLANE_TLS_CERT", "PLANE_TLS_KEY"),
  ],
  config: (e): { plane: PlaneConfig } => {
    const { NATS_URL: url, NATS_OPERATOR_SEED: operatorSeed, NATS_SYSTEM_JWT: jwt, NATS_SYSTEM_SEED: systemSeed } = e;
    const { PLANE_TLS_CERT: certFile, PLANE_TLS_KEY: keyFile } = e;
    const isNats = url !== undefined && operatorSeed !== undefined && jwt !== undefined && systemSeed !== undefined;
    const plane = {
      absent: !e.PLANE,
      publicUrl: e.PLANE_PUBLIC_URL,
      seed: e.PLANE_SEED,
      seedOld: e.PLANE_SEED_OLD,
      account: e.PLANE_ACCOUNT,
      signingSeeds: e.PLANE_SIGNING_SEED?.split(",") ?? [],
      credentialTtlMs: e.PLANE_CREDENTIAL_TTL_S * 1000,
      host: e.PLANE_HOST,
      port: e.PLANE_PORT,
      tls: certFile !== undefined && keyFile !== undefined ? { certFile, keyFile } : undefined,
      nats: isNats ? { url, operatorSeed, system: { jwt, seed: systemSeed } } : undefined,
    };
    return { plane };
  },
});
