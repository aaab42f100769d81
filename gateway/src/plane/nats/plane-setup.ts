/**
 * Creates everything that a new NATS server needs for Tollgate: an operator, a system account, the account of gateways
 * and nodes, and the configuration. The seeds are random, so lost ones cannot be created again.
 */
import type { Random } from "../../base/random.ts";
import { signJwt } from "../credentials/jwt.ts";
import { createKey, type SigningKey } from "../credentials/nkeys.ts";
import { mintUserJwt } from "../credentials/user-jwt.ts";
import { type PlaneAccounts, serverConfiguration } from "./server-configuration.ts";
import {
  ACCOUNT_LOOKUP_SUBJECT,
  CLAIMS_UPDATE_SUBJECT,
  NODE_EVENTS_SUBJECT,
  systemEventsSubject,
  systemLookupSubject,
} from "./subjects.ts";
import type { SystemUser } from "./system-account.ts";

export interface PlaneSetup {
  /** The operator's public key. The next two are public keys too. */
  operator: string;
  systemAccount: string;
  account: string;
  serverConfiguration: string;
  /** The operator's JWT and the accounts' JWTs, for the configuration of a cluster's servers. */
  accounts: PlaneAccounts;
  /** The seed that gateways use to sign credentials. */
  accountSeed: string;
  operatorSeed: string;
  system: SystemUser;
  /** The seed of the operator's root key. No running program needs it. It can authorize another signing key. */
  operatorRootSeed: string;
  /** For administrators with the `nats` tool, without restrictions. */
  administrator: SystemUser;
}

const UNLIMITED = { subs: -1, data: -1, payload: -1, imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1 };

export function createPlaneSetup(options: { url: string; random: Random; nowMs: number }): PlaneSetup {
  const { url, random } = options;
  const nowS = Math.floor(options.nowMs / 1000);
  const root = createKey("operator", random);
  const signing = createKey("operator", random);
  const system = createKey("account", random);
  const account = createKey("account", random);
  const operatorJwt = signJwt(root, {
    iat: nowS,
    name: "tollgate",
    sub: root.publicKey,
    nats: { signing_keys: [signing.publicKey], system_account: system.publicKey, type: "operator", version: 2 },
  });
  const preload = {
    [system.publicKey]: systemAccountJwt(signing, { system, account, nowS }),
    [account.publicKey]: accountJwt(signing, { system, account, nowS }),
  };
  const lookup = systemLookupSubject(account.publicKey);
  const accounts = { operatorJwt, systemAccount: system.publicKey, preload };
  return {
    operator: root.publicKey,
    systemAccount: system.publicKey,
    account: account.publicKey,
    serverConfiguration: serverConfiguration({ url, ...accounts }),
    accounts,
    accountSeed: account.seed,
    operatorSeed: signing.seed,
    system: newUser(system, { name: "tollgate", publish: [CLAIMS_UPDATE_SUBJECT, lookup], subscribe: ["_INBOX.>"] }),
    operatorRootSeed: root.seed,
    administrator: newUser(system, { name: "administrator", publish: [">"], subscribe: [">"] }),
  };

  function newUser(of: SigningKey, grant: { name: string; publish: string[]; subscribe: string[] }): SystemUser {
    const { name, ...permissions } = grant;
    const key = createKey("user", random);
    const limits = { subscriptionsMax: -1, payloadBytesMax: -1 };
    const login = { name, userKey: key.publicKey, issuedAtS: nowS, expiresAtS: undefined };
    return { jwt: mintUserJwt(of, { ...login, ...limits, permissions }), seed: key.seed };
  }
}

interface AccountKeys {
  system: SigningKey;
  account: SigningKey;
  nowS: number;
}

/** The system account's JWT. The other account may see only its own connections and its own JWT. */
function systemAccountJwt(signing: SigningKey, { system, account, nowS }: AccountKeys): string {
  const exports = [
    { name: "connections", subject: systemEventsSubject(account.publicKey), type: "stream" },
    { name: "lookup", subject: systemLookupSubject(account.publicKey), type: "service" },
  ];
  const nats = { limits: UNLIMITED, exports, type: "account", version: 2 };
  return signJwt(signing, { iat: nowS, name: "system", sub: system.publicKey, nats });
}

function accountJwt(signing: SigningKey, { system, account, nowS }: AccountKeys): string {
  const of = { account: system.publicKey };
  const events = {
    subject: systemEventsSubject(account.publicKey),
    local_subject: NODE_EVENTS_SUBJECT.replace("*", "$1"),
    type: "stream",
  };
  const lookup = {
    subject: systemLookupSubject(account.publicKey),
    local_subject: ACCOUNT_LOOKUP_SUBJECT,
    type: "service",
  };
  const imports = [
    { name: "connections", ...of, ...events },
    { name: "lookup", ...of, ...lookup },
  ];
  const nats = { limits: UNLIMITED, imports, type: "account", version: 2 };
  return signJwt(signing, { iat: nowS, name: "tollgate", sub: account.publicKey, nats });
}
