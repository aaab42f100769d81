/**
 * `tollgate admin plane init --dir DIR`: makes the keys and files of a new NATS plane. It writes once and overwrites
 * nothing: the seeds in these files are what nodes and gateways are known by.
 */
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { systemClock } from "../../base/clock.ts";
import { systemRandom } from "../../base/random.ts";
import { newPlaneSetup, type PlaneSetup } from "../../dispatch/nats/setup.ts";
import type { SystemUser } from "../../dispatch/nats/system.ts";

const DEFAULT_URL = "nats://127.0.0.1:4222";
const URL_RULE = "must be nats://HOST:PORT or tls://HOST:PORT, several separated by commas";

interface File {
  name: string;
  text: string;
  secret: boolean;
}

export async function planeInit(args: string[]): Promise<number> {
  const { dir, url, json } = readFlags(args);
  if (dir === undefined || dir === "") throw new Error("--dir must name the directory to write to");
  if (!url.split(",").every(isNatsUrl)) throw new Error(`--url ${URL_RULE}`);
  const place = resolve(dir);
  const setup = newPlaneSetup({ url, random: systemRandom(), nowMs: systemClock.now() });
  const files = filesOf(setup, url);
  const inTheWay = files.map(({ name }) => join(place, name)).find((file) => existsSync(file));
  if (inTheWay !== undefined) throw new Error(`${inTheWay} is already there; a plane's keys are never overwritten`);
  await mkdir(place, { recursive: true, mode: 0o755 });
  for (const { name, text, secret } of files) {
    await writeFile(join(place, name), text, { flag: "wx", mode: secret ? 0o600 : 0o644, flush: true });
  }
  const next = [
    `cd ${quoted(place)} && nats-server -c nats-server.conf`,
    `set -a; . ${quoted(join(place, "gateway.env"))}; set +a; tollgate serve`,
  ];
  console.log(json ? report(setup, { place, url, files, next }) : sentences(place, next));
  return 0;
}

function filesOf(setup: PlaneSetup, url: string): File[] {
  const { accountSeed, operatorSeed, system } = setup;
  const environment = { NATS_URL: url, PLANE_SEED: accountSeed, NATS_OPERATOR_SEED: operatorSeed };
  const systemUser = { NATS_SYSTEM_JWT: system.jwt, NATS_SYSTEM_SEED: system.seed };
  const lines = Object.entries({ ...environment, ...systemUser }).map(([name, value]) => `${name}=${value}\n`);
  return [
    { name: "operator.seed", text: `${setup.operatorRootSeed}\n`, secret: true },
    { name: "administrator.creds", text: credentialsFile(setup.administrator), secret: true },
    { name: "gateway.env", text: lines.join(""), secret: true },
    { name: "nats-server.conf", text: setup.serverConfiguration, secret: false },
  ];
}

/** As the `nats` tool reads it. */
function credentialsFile({ jwt, seed }: SystemUser): string {
  return `-----BEGIN NATS USER JWT-----
${jwt}
------END NATS USER JWT------

-----BEGIN USER NKEY SEED-----
${seed}
------END USER NKEY SEED------
`;
}

interface Made {
  place: string;
  url: string;
  files: File[];
  next: string[];
}

function report({ operator, systemAccount, account }: PlaneSetup, { place, url, files, next }: Made): string {
  const named = files.map(({ name }) => name);
  return JSON.stringify({ dir: place, url, operator, system_account: systemAccount, account, files: named, next });
}

function sentences(place: string, next: string[]): string {
  return `Wrote to ${place}:
  nats-server.conf     for every NATS server; holds no secret
  gateway.env          for every gateway; secret
  administrator.creds  for you and the nats tool; secret
  operator.seed        nothing that runs needs it: move it to a safe place; secret

Next:
  ${next.join("\n  ")}`;
}

function readFlags(args: string[]) {
  const options = {
    dir: { type: "string" },
    url: { type: "string", default: DEFAULT_URL },
    json: { type: "boolean", default: false },
  } as const;
  try {
    return parseArgs({ args, options }).values;
  } catch (cause) {
    // Node explains itself over several lines; the first one names the flag.
    throw new Error(`plane init: ${(cause as Error).message.split("\n")[0]}`, { cause });
  }
}

function isNatsUrl(text: string): boolean {
  if (!/^(nats|tls):\/\//.test(text) || !URL.canParse(text)) return false;
  const { hostname, username, pathname } = new URL(text);
  return hostname !== "" && username === "" && (pathname === "" || pathname === "/");
}

const quoted = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);
