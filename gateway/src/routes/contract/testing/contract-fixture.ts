/** Test helper: a platform with one person of every kind, objects of two accounts, and snapshots of its database. */

import { type DemoPaymentProvider, openDemoPaymentProvider } from "@tollgate/demo-provider/demo-provider.ts";
import { systemClock } from "../../../base/clock.ts";
import { publicId, type Uuid } from "../../../base/ids.ts";
import { createLog } from "../../../base/log.ts";
import { pico } from "../../../base/money.ts";
import { systemRandom } from "../../../base/random.ts";
import { ProviderUnavailable } from "../../../payments/payment-provider.ts";
import { createStripeProviderAt } from "../../../payments/testing-payments.ts";
import { Browser } from "../../testing/browser.ts";
import { insertServedRequest } from "../../testing/past-requests.ts";
import { openTestPlatform, type TestPlatform } from "../../testing/platform.ts";
import { type Person, signInTestPerson } from "../../testing/sign-in-test-person.ts";

export const PERSON_KINDS = [
  "nobody",
  "no account",
  "builder",
  "host",
  "operator",
  "suspended builder",
  "suspended host",
  "other builder",
  "other host",
  "member",
  "billing",
  "viewer",
  "host member",
  "host billing",
  "host viewer",
] as const;
export type PersonKind = (typeof PERSON_KINDS)[number];

/** The invited members of the builder's account and of the host's account. */
export const TEAM_MEMBER_KINDS = {
  builder: ["member", "billing", "viewer"],
  host: ["host member", "host billing", "host viewer"],
} as const satisfies Record<string, readonly PersonKind[]>;

/** The kinds of objects that a path's `{id}` can name. */
export type ObjectKind =
  | "account"
  | "session"
  | "key"
  | "request"
  | "token"
  | "node"
  | "quarantined node"
  | "withheld node"
  | "batch"
  | "member"
  | "invitation"
  | "payment"
  | "incident";

export interface ContractFixture {
  platform: TestPlatform;
  demo: DemoPaymentProvider;
  people: Record<PersonKind, Person>;
  /** Creates an object of the builder, the host or the platform, and returns its public ID. */
  make(thing: ObjectKind): Promise<string>;
  /** Texts that only their owner and operators may see. */
  marks: Record<"builder" | "host", string[]>;
  /** The database's content, except these tables and those that reads may change. */
  snapshot(without?: string[]): Promise<string>;
  close(): Promise<void>;
}

/**
 * Tables that requests for reading may change: sessions are extended, sign-in attempts are counted, and results of the
 * ledger check are stored.
 */
const CHANGED_BY_READING = ["identity_session", "identity_attempt", "books_verdict"];

export async function openFixture(): Promise<ContractFixture> {
  const log = createLog("silent");
  const demo = await openDemoPaymentProvider({ clock: systemClock, random: systemRandom(), log });
  const real = createStripeProviderAt(demo);
  const unlessAway =
    <Asked extends unknown[], T>(ask: (...asked: Asked) => Promise<T>) =>
    (...asked: Asked): Promise<T> =>
      platform.outside.provider === "away" ? Promise.reject(new ProviderUnavailable("a test")) : ask(...asked);
  const platform: TestPlatform = await openTestPlatform({
    payments: {
      ...real,
      openSetup: unlessAway(real.openSetup),
      forgetMethod: unlessAway(real.forgetMethod),
      receipts: unlessAway(real.receipts),
    },
  });
  const nobody = { email: "", identityId: "" as Uuid, accountIds: [], browser: new Browser(platform) };
  const inTeams = async () => {
    const [builder, host] = [
      await signInTestPerson(platform, [{ kind: "builder" }]),
      await signInTestPerson(platform, [{ kind: "host" }]),
    ];
    const member = (of: Person, role: string) => joined(platform, of.accountIds[0] as Uuid, role);
    return {
      builder,
      host,
      member: await member(builder, "member"),
      billing: await member(builder, "billing"),
      viewer: await member(builder, "viewer"),
      "host member": await member(host, "member"),
      "host billing": await member(host, "billing"),
      "host viewer": await member(host, "viewer"),
    };
  };
  const people: ContractFixture["people"] = {
    nobody,
    ...(await inTeams()),
    "no account": await signInTestPerson(platform),
    operator: await signInTestPerson(platform, [], { operator: true }),
    "suspended builder": await signInTestPerson(platform, [{ kind: "builder", suspended: true }]),
    "suspended host": await signInTestPerson(platform, [{ kind: "host", suspended: true }]),
    "other builder": await signInTestPerson(platform, [{ kind: "builder" }]),
    "other host": await signInTestPerson(platform, [{ kind: "host" }]),
  };
  const make = makerOf(platform, people);
  const [key, request, token, node] = await Promise.all([make("key"), make("request"), make("token"), make("node")]);
  const { builder, host } = people;
  return {
    platform,
    demo,
    people,
    make,
    marks: {
      builder: [key, request, builder.email, ...accountsOf(builder)],
      host: [token, node, host.email, ...accountsOf(host)],
    },
    snapshot: (without = []) => snapshotOf(platform, [...CHANGED_BY_READING, ...without]),
    async close() {
      await demo.close();
      await platform.close();
    },
  };
}

/** A new person with this role in the account. */
async function joined(platform: TestPlatform, accountId: Uuid, role: string): Promise<Person> {
  const person = await signInTestPerson(platform);
  const values = [accountId, person.identityId, role];
  await platform.pool.query("insert into account_member (account_id, identity_id, role) values ($1, $2, $3)", values);
  return person;
}

const accountsOf = ({ accountIds }: Person): string[] => accountIds.map((id) => publicId("acc", id));

function makerOf(platform: TestPlatform, { builder, host }: ContractFixture["people"]): ContractFixture["make"] {
  const [builderId, hostId] = [builder.accountIds[0] as Uuid, host.accountIds[0] as Uuid];
  const { fleet, payouts } = platform.parts;
  let made = 0;
  const posted = async ({ browser }: Person, url: string): Promise<string> =>
    String((await browser.send("POST", url, { body: { name: `thing ${made++}` } })).body.id);
  const newNode = async (): Promise<Uuid> => {
    const { id } = await fleet.register(hostId, { name: `node ${made++}`, hardware: {}, agent: "" });
    await fleet.elect(hostId, id, ["tiny-3b"]);
    return id;
  };
  const newRequest = async (): Promise<string> => {
    const servedBy = { accountId: hostId, nodeId: await newNode() };
    return publicId(
      "req",
      await insertServedRequest(platform, { accountId: builderId, charge: 1_000n, host: servedBy }),
    );
  };
  const makers: Record<ObjectKind, () => Promise<string>> = {
    account: async () => publicId("acc", builderId),
    async session() {
      const elsewhere = new Browser(platform);
      await elsewhere.enter(platform, builder.identityId);
      const { body } = await elsewhere.send("GET", "/console/api/sessions");
      return String((body.data as { id: string; current: boolean }[]).find(({ current }) => current)?.id);
    },
    key: () => posted(builder, "/console/api/keys"),
    request: newRequest,
    token: () => posted(host, "/console/api/host-tokens"),
    node: async () => publicId("node", await newNode()),
    async "quarantined node"() {
      const id = await newNode();
      await fleet.quarantine(id, { reason: "a test", evidence: {}, by: "platform" });
      return publicId("node", id);
    },
    async "withheld node"() {
      await makers["quarantined node"]();
      return publicId("node", await newNode());
    },
    member: async () => publicId("usr", (await joined(platform, builderId, "viewer")).identityId),
    async invitation() {
      const offer = { email: `guest${made++}@example.test`, role: "viewer" } as const;
      const sent = await platform.identities.team.invitations.send(builderId, offer, builder);
      return publicId("inv", (sent as Exclude<typeof sent, string>).invitation.id);
    },
    async payment() {
      const { body } = await builder.browser.send("POST", "/console/api/credits/checkout", {
        body: { amount_micro: "7000000" },
      });
      return String(body.id);
    },
    async batch() {
      await newRequest();
      const batch = await payouts.create({ note: "", by: "a test", minimum: pico(1n) });
      return publicId("pay", batch?.id as Uuid);
    },
    async incident() {
      const id = platform.newId();
      await platform.pool.query(
        `insert into status_incident (id, state, cause, began_at, last_at, opened_at, ended_at)
         values ($1, 'down', 'plane', now() - interval '2 minutes', now(), now(), now())`,
        [id],
      );
      return publicId("inc", id);
    },
  };
  return (thing) => makers[thing]();
}

async function snapshotOf({ pool }: TestPlatform, without: string[]): Promise<string> {
  const { rows: tables } = await pool.query("select tablename from pg_tables where schemaname = 'public' order by 1");
  // The gateway itself notes in gateway_process, with each heartbeat, when it last reached the database.
  const leftOut = [...without, "gateway_process"];
  const names = tables.map(({ tablename }) => String(tablename)).filter((name) => !leftOut.includes(name));
  const digests = names.map(
    (name) =>
      `select '${name}', count(*), md5(coalesce(string_agg(t::text, e'\\n' order by t::text), '')) from "${name}" t`,
  );
  const { rows } = await pool.query({ text: digests.join(" union all "), rowMode: "array" });
  // Sorted, because a union of queries returns rows in any order.
  return rows
    .map((row: unknown[]) => row.join(" "))
    .sort()
    .join("\n");
}
