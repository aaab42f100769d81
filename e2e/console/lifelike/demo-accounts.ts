/** Creates the accounts of the lifelike platform: a builder who also hosts, other builders, and the host's machines. */

import type { Platform } from "@tollgate/stage/dev-platform.ts";
import type { Process } from "@tollgate/stage/killable-process.ts";
import { startNode } from "@tollgate/stage/nodes/start-agent.ts";
import { ConsoleClient } from "../../console-client.ts";

export const DEMO_USER = { name: "Robin Ellis", email: "robin@example.com", password: "a password for the pictures" };
const KEYS = ["production", "staging", "nightly summaries", "evaluation"] as const;
/** The key with the rate limit `LIMITED_TO`, so low that some of its requests are refused. */
const LIMITED_KEY = "evaluation";
const LIMITED_TO = 20;
/** The only node that serves this model is quarantined at the end, so requests find no capacity. */
const LONELY_MODEL = "mid-14b";

const OTHERS = [
  { person: "Sam Okafor", email: "sam@example.com", account: "Paper Kite Games", credit: "20000000" },
  { person: "Mia Lindqvist", email: "mia@example.com", account: "Quarry Search", credit: "50000000" },
  { person: "Jo Tanaka", email: "jo@example.com", account: "Copper Loop", credit: "5000000" },
];

/** The other members of the user's team. */
const TEAM = [
  { name: "Ines Haddad", email: "ines@example.com", role: "member" },
  { name: "Theo Brandt", email: "theo@example.com", role: "billing" },
];
const PAYOUT_METHOD = { kind: "iban", holder: DEMO_USER.name, number: "DE89 3704 0044 0532 0130 00" };
const INVITED = { email: "noor@example.com", role: "viewer" };

const GIB = 1024 ** 3;
const CARD = { maker: "nvidia", driver: "570.86" };
export const HOST_MACHINES = [
  {
    name: "attic",
    models: ["tiny-3b", "small-8b", "small-7b-alt", "embed-m3"],
    slots: 16,
    hardware: machine("AMD Ryzen 9 7900", 12, 64, [{ ...CARD, name: "RTX 4090", memory_bytes: 24 * GIB }]),
  },
  {
    name: "rack-a",
    models: ["small-8b", "reason-32b"],
    slots: 12,
    hardware: machine("Intel Xeon w5-2455X", 12, 128, [{ ...CARD, name: "RTX A6000", memory_bytes: 48 * GIB }]),
  },
  {
    name: "workshop",
    models: ["tiny-3b", LONELY_MODEL],
    slots: 8,
    hardware: machine("AMD Ryzen 7 5800X", 8, 32, [{ ...CARD, name: "RTX 3090", memory_bytes: 24 * GIB }]),
  },
];

function machine(cpu: string, cores: number, gibibytes: number, gpus: object[]): object {
  return { os: "linux", arch: "x64", cpu, cores, memory_bytes: gibibytes * GIB, gpus, engines: ["vLLM"] };
}

export interface DemoAccounts {
  operator: ConsoleClient;
  person: ConsoleClient;
  /** The keys by name. */
  keys: Map<string, string>;
  /** One key for each of the other builders. */
  otherKeys: string[];
  nodes: Process[];
}

export async function createAccounts(platform: Platform): Promise<DemoAccounts> {
  const operator = await new ConsoleClient(platform).signIn(platform.ready.operator);
  const person = new ConsoleClient(platform);
  await person.send("POST", "auth/sign-up/email", DEMO_USER);
  await openBuilder({ person, operator, name: "Lantern Notes", credit: "10000000" });
  await gather(platform, person);
  await person.send("POST", "accounts", { kind: "host", name: "Fern Street Compute" });
  await person.send("PUT", "payout-method", PAYOUT_METHOD);
  const keys = new Map<string, string>();
  for (const name of KEYS) keys.set(name, await newKey(person, name, operator));
  const otherKeys = [];
  for (const { person: name, email, account, credit } of OTHERS) {
    const other = new ConsoleClient(platform);
    await other.send("POST", "auth/sign-up/email", { name, email, password: DEMO_USER.password });
    await openBuilder({ person: other, operator, name: account, credit });
    otherKeys.push(await newKey(other, "main", operator));
  }
  const nodes = await startMachines(platform, person);
  return { operator, person, keys, otherKeys, nodes };
}

/** Invites the team. This platform sends no email, so the invitation links are used directly. */
async function gather(platform: Platform, person: ConsoleClient): Promise<void> {
  for (const { name, email, role } of TEAM) {
    const { link } = await person.send<{ link: string }>("POST", "team/invitations", { email, role });
    const joins = new ConsoleClient(platform);
    await joins.send("POST", "auth/sign-up/email", { name, email, password: DEMO_USER.password });
    await joins.send("POST", "team/accept", { token: decodeURIComponent(link.split("#token=")[1] ?? "") });
  }
  await person.send("POST", "team/invitations", INVITED);
}

interface NewBuilder {
  person: ConsoleClient;
  operator: ConsoleClient;
  name: string;
  credit: string;
}

async function openBuilder({ person, operator, name, credit }: NewBuilder): Promise<void> {
  const { id } = await person.send<{ id: string }>("POST", "accounts", { kind: "builder", name });
  await operator.send("POST", `operator/accounts/${id}/grant`, {
    amount_micro: credit,
    reason: "credit to begin with",
  });
}

async function newKey(person: ConsoleClient, name: string, operator: ConsoleClient): Promise<string> {
  const { id, secret } = await person.send<{ id: string; secret: string }>("POST", "keys", { name });
  if (name === LIMITED_KEY) {
    await operator.send("PUT", `operator/keys/${id}/limits`, { requests_per_minute: LIMITED_TO });
  }
  return secret;
}

/** Starts the machines. Replaces the hardware that each agent reported, because all of them run on the test machine. */
async function startMachines(platform: Platform, person: ConsoleClient): Promise<Process[]> {
  const nodes: Process[] = [];
  for (const { name, models, slots, hardware } of HOST_MACHINES) {
    const { secret: token } = await person.send<{ secret: string }>("POST", "host-tokens", { name });
    const own = { ...platform, ready: { ...platform.ready, host_token: token } };
    nodes.push(await startNode(own, { name, model: models.join(","), slots }));
    const told = await fetch(`${platform.ready.gateway_url}/node/v1/nodes`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ name, hardware, agent: "0.1.0" }),
    });
    if (!told.ok) throw new Error(`${name} could not be described: ${await told.text()}`);
  }
  return nodes;
}
