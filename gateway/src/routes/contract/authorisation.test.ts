/**
 * Calls every route of the console and of the node API as every kind of person and with every kind of token. Tests
 * access, refusals, isolation between accounts, and protection against requests from other sites.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { consoleApi } from "@tollgate/api/console/api.ts";
import { type FaultCode, faults } from "@tollgate/api/faults.ts";
import { ACCOUNT_GUARDS, type Guard as AnyGuard, GUARDS, findAccessRules as refusalsOf } from "@tollgate/api/guards.ts";
import { nodeApi } from "@tollgate/api/nodes/api.ts";
import { findRequiredPermission, type Permission, type Role } from "@tollgate/api/roles.ts";
import { publicId, type Uuid } from "../../base/ids.ts";
import type { UnpaidJobResult } from "../../inference/unpaid-job.ts";
import type { BrowserResponse } from "../testing/browser.ts";
import { type AccessCase, findObsoleteAccessRows, listAccessCases } from "./testing/access-cases.ts";
import {
  type ContractFixture,
  openFixture,
  PERSON_KINDS,
  type PersonKind,
  TEAM_MEMBER_KINDS,
} from "./testing/contract-fixture.ts";
import { openEvents } from "./testing/event-stream-reader.ts";
import { isStream, operationRequestLine } from "./testing/operations.ts";

type Guard = Exclude<AnyGuard, "hostToken" | "apiKey">;
const EVERYBODY_PASSES: Record<Guard, string> = {
  anyone: "passes",
  signedIn: "passes",
  builder: "passes",
  buyer: "passes",
  host: "passes",
  account: "passes",
  operator: "passes",
};
const builder = { ...EVERYBODY_PASSES, host: "host_only", operator: "operator_only" };
const host = { ...EVERYBODY_PASSES, builder: "member_only", buyer: "not_a_builder", operator: "operator_only" };
const noneOf = (code: string) => ({
  ...EVERYBODY_PASSES,
  builder: code,
  buyer: code,
  host: code,
  account: code,
  operator: "operator_only",
});
/** The error code that each kind of person gets from each guard. */
const TOLD: Record<PersonKind, Record<Guard, string>> = {
  nobody: { ...noneOf("not_authenticated"), signedIn: "not_authenticated", operator: "not_authenticated" },
  "no account": noneOf("no_account"),
  builder,
  host,
  operator: {
    ...EVERYBODY_PASSES,
    builder: "member_only",
    buyer: "member_only",
    host: "host_only",
    account: "no_account",
  },
  "suspended builder": noneOf("account_suspended"),
  "suspended host": noneOf("account_suspended"),
  "other builder": builder,
  "other host": host,
  member: builder,
  billing: builder,
  viewer: builder,
  "host member": host,
  "host billing": host,
  "host viewer": host,
};
/** The permissions of each role. */
const MAY: Record<Role, Permission[]> = {
  owner: ["read", "work", "pay", "own"],
  member: ["read", "work"],
  billing: ["read", "pay"],
  viewer: ["read"],
};
const ROLE: Partial<Record<PersonKind, Role>> = {
  member: "member",
  billing: "billing",
  viewer: "viewer",
  "host member": "member",
  "host billing": "billing",
  "host viewer": "viewer",
};
/** The owner of the object that a route's path names. Operators own the objects of operator routes. */
const OWNER: Record<Guard, PersonKind> = {
  anyone: "builder",
  signedIn: "builder",
  builder: "builder",
  buyer: "builder",
  host: "host",
  account: "builder",
  operator: "operator",
};

const CONSOLE = listAccessCases(consoleApi);
const NODES = listAccessCases(nodeApi);
const guardOf = ({ guard }: AccessCase): Guard => guard as Guard;
/** The error code that a person gets before the body is read, or "passes". */
function toldBy(access: AccessCase, who: PersonKind): string {
  const told = TOLD[who][guardOf(access)];
  if (told !== "passes" || !ACCOUNT_GUARDS.includes(access.guard)) return told;
  return MAY[ROLE[who] ?? "owner"].includes(findRequiredPermission(access)) ? "passes" : "role_required";
}
/** The team members who share the owner's access to the object. */
function teamOf(access: AccessCase): readonly PersonKind[] {
  const owner = OWNER[guardOf(access)];
  return ACCOUNT_GUARDS.includes(access.guard) && (owner === "builder" || owner === "host")
    ? TEAM_MEMBER_KINDS[owner]
    : [];
}

let fixture: ContractFixture;
before(async () => {
  fixture = await openFixture();
});
after(() => fixture.close());

async function call(
  access: AccessCase,
  who: PersonKind,
  id: string,
  headers?: Record<string, string>,
): Promise<BrowserResponse> {
  const { browser } = fixture.people[who];
  const { method, url } = operationRequestLine(access, id);
  if (isStream(access) && toldBy(access, who) === "passes") return beginning(access, who);
  const { sent: body } = access;
  return browser.send(method, url, { ...(body !== undefined && { body }), ...(headers && { headers }) });
}

/** A valid ID of the same kind, for which no object exists. */
const another = (id: string): string =>
  publicId("usr", fixture.platform.newId()).replace("usr_", id.slice(0, id.indexOf("_") + 1));

/** The first events of a stream, which does not end by itself. */
async function beginning({ id, answer, at }: AccessCase, who: PersonKind): Promise<BrowserResponse> {
  const { url } = operationRequestLine({ at } as AccessCase);
  const stream = await openEvents(fixture.platform.app, fixture.people[who].browser, url);
  const events: unknown[] = [];
  for (const name of Object.keys(answer.events?.named ?? {})) events.push(await stream.event(name));
  stream.close();
  assert.ok(events.length > 0, id);
  return { ...stream.answer, text: JSON.stringify(events) };
}

function assertRefusal(answer: BrowserResponse, code: string, what: string): void {
  assert.equal(answer.body.error?.code, code, `${what}: ${answer.text}`);
  assert.deepEqual(Object.keys(answer.body), ["error"]);
  assert.equal(answer.status, faults[code as FaultCode].status, what);
}

/**
 * Asserts that a response does not reveal other people: a builder must not see the node, and a host must not see the
 * builder.
 */
function assertHidden({ text }: BrowserResponse, who: PersonKind): void {
  if (who === "operator") return;
  for (const owner of ["builder", "host"] as const) {
    if (who === owner || (TEAM_MEMBER_KINDS[owner] as readonly PersonKind[]).includes(who)) continue;
    const isHost = who === "host" || (TEAM_MEMBER_KINDS.host as readonly PersonKind[]).includes(who);
    // A host may see request IDs, because its earnings list them. They give no access to the requests.
    const marks = fixture.marks[owner].filter((mark) => !(isHost && mark.startsWith("req_")));
    for (const mark of marks) assert.ok(!text.includes(mark), `${who} is shown ${mark}`);
  }
}

/** Headers that differ in every response. */
const OWN_HEADERS = ["x-request-id", "date", "content-length", "set-cookie", "connection", "transfer-encoding"];

/** Asserts that HEAD returns the same status and headers as GET, with and without access. */
function assertHead(head: BrowserResponse, get: BrowserResponse, what: string): void {
  const shared = ({ headers }: BrowserResponse) =>
    Object.entries(headers).filter(([name]) => !OWN_HEADERS.includes(name));
  assert.deepEqual([head.status, shared(head).sort()], [get.status, shared(get).sort()], what);
  if (get.text !== "") assert.equal("content-length" in head.headers, "content-length" in get.headers, what);
}

test("every guard returns the errors that it declares, and no others", () => {
  for (const guard of Object.keys(EVERYBODY_PASSES) as Guard[]) {
    const declared = GUARDS[guard].faults.flatMap(({ code }) => code ?? []);
    const told = PERSON_KINDS.map((who) => TOLD[who][guard]).filter((code) => code !== "passes");
    assert.deepEqual(new Set(told), new Set<string>(declared), guard);
  }
});

test("every route of an account declares its permission and role_required", () => {
  for (const route of CONSOLE.filter(({ guard }) => ACCOUNT_GUARDS.includes(guard))) {
    const { at, needs } = route;
    if (!at.startsWith("GET ")) assert.ok(needs !== undefined, `${at} does not say what it needs`);
    const declared = refusalsOf(route).faults.some(({ code }) => code === "role_required");
    const isRefused = PERSON_KINDS.some((who) => toldBy(route, who) === "role_required");
    assert.equal(declared, isRefused, at);
  }
  for (const { at, guard, needs } of CONSOLE) assert.ok(needs === undefined || ACCOUNT_GUARDS.includes(guard), at);
});

/**
 * Routes that need no session. `health` reports outages, during which sessions cannot be read. `status` has the data of
 * the public status page.
 */
const FOR_ANYONE = ["GET /console/api/health", "GET /console/api/status"];

test("only operators can call operator/ routes, and only the listed routes work without a session", () => {
  for (const { at, guard } of CONSOLE) {
    assert.equal(guard === "operator", at.includes(" /console/api/operator/"), at);
    if (guard === "anyone") assert.ok(at.includes(" /console/api/auth/") || FOR_ANYONE.includes(at), at);
  }
  for (const { at, guard } of NODES) assert.equal(guard, "hostToken", at);
});

test("every row of the access table (access-cases.ts) belongs to an existing operation", () =>
  assert.deepEqual(findObsoleteAccessRows([consoleApi, nodeApi]), []));

describe("requests from another site", () => {
  /**
   * Headers that browsers send with requests from another site's form or script, a sister site, or a sandboxed frame.
   * The last case has none of these headers.
   */
  const FORGERIES: Record<string, Record<string, string>> = {
    "a form of another site": {
      "sec-fetch-site": "cross-site",
      origin: "https://evil.test",
      "content-type": "application/x-www-form-urlencoded",
    },
    "a script of another site": { "sec-fetch-site": "cross-site", origin: "https://evil.test" },
    "a script of another site that claims to be ours": {
      "sec-fetch-site": "cross-site",
      origin: "http://console.test",
    },
    "a sister site": { "sec-fetch-site": "same-site", origin: "http://other.console.test" },
    "an old browser on another site": { origin: "https://evil.test" },
    "an old browser in a sandbox": { origin: "null" },
    "no header at all": {},
  };
  const changing = CONSOLE.filter(({ at }) => !at.startsWith("GET "));

  test("change nothing on any route that writes, whichever person's cookie they send", async () => {
    assert.ok(changing.length > 30);
    const ids = new Map<AccessCase, string>();
    for (const access of changing) {
      ids.set(access, access.thing === undefined ? "none" : await fixture.make(access.thing));
    }
    const before = await fixture.snapshot();
    for (const [access, id] of ids) {
      for (const [attempt, headers] of Object.entries(FORGERIES)) {
        const answer = await call(access, OWNER[guardOf(access)], id, headers);
        assertRefusal(answer, "cross_site_blocked", `${attempt}, ${access.at}`);
      }
      assertRefusal(await call(access, "nobody", id, {}), "cross_site_blocked", `nobody, ${access.at}`);
    }
    assert.equal(await fixture.snapshot(), before);
  });

  test("never get CORS headers that permit reading a response", async () => {
    const headers = { "sec-fetch-site": "cross-site", origin: "https://evil.test" };
    for (const access of CONSOLE.filter((one) => !isStream(one))) {
      const answer = await call(access, "nobody", "none", headers);
      const preflight = await fixture.platform.app.inject({
        method: "OPTIONS",
        url: operationRequestLine(access).url,
        headers,
      });
      assert.equal(preflight.statusCode, 405);
      for (const name of [...Object.keys(answer.headers), ...Object.keys(preflight.headers)]) {
        assert.doesNotMatch(name, /^access-control-/, access.at);
      }
    }
  });
});

describe("every route for every person", () => {
  for (const access of CONSOLE) {
    const { at, thing, absent, status, except } = access;
    const guard = guardOf(access);
    const isRefused = (who: PersonKind): boolean => toldBy(access, who) !== "passes";
    const team = teamOf(access);
    test(at, async () => {
      const id = thing === undefined ? "none" : await fixture.make(thing);
      const none = absent && (await call(access, OWNER[guard], another(id)));
      if (none !== undefined) assertRefusal(none, absent as string, "one that does not exist");

      const before = await fixture.snapshot();
      for (const who of PERSON_KINDS.filter(isRefused))
        assertRefusal(await call(access, who, id), toldBy(access, who), who);
      for (const [who, code] of Object.entries(except))
        assertRefusal(await call(access, who as PersonKind, id), code, who);
      const others = PERSON_KINDS.filter((who) => !isRefused(who) && except[who] === undefined && who !== OWNER[guard]);
      const strangers = others.filter((who) => !team.includes(who));
      for (const who of none === undefined ? [] : strangers) {
        const answer = await call(access, who, id);
        assert.deepEqual([answer.status, answer.body], [404, none?.body], `${who}: as if it did not exist`);
      }
      assert.equal(await fixture.snapshot(), before, "nothing that was refused changed anything");

      const mine = await call(access, OWNER[guard], id);
      assert.equal(mine.status, status, mine.text);
      assertHidden(mine, OWNER[guard]);
      if (at.startsWith("GET ")) {
        for (const who of [OWNER[guard], "nobody"] as const) {
          const head = await fixture.people[who].browser.send("HEAD", operationRequestLine(access, id).url);
          assertHead(head, await call(access, who, id), `HEAD, ${who}`);
        }
      }
      for (const who of none === undefined ? strangers : []) {
        const answer = await call(access, who, id);
        assert.equal(answer.status, status, `${who}: ${answer.text}`);
        assertHidden(answer, who);
      }
      for (const who of others.filter((one) => team.includes(one))) {
        const answer = await call(access, who, thing === undefined ? "none" : await fixture.make(thing));
        assert.equal(answer.status, status, `${who}, of the team: ${answer.text}`);
        assertHidden(answer, who);
      }
    });
  }
});

describe("every node API route for every token", () => {
  const TRIED: UnpaidJobResult = {
    end: "finished",
    finish: "stop",
    text: "Hi.",
    reasoning: "",
    vectors: [],
    promptTokens: 1,
    completionTokens: 1,
    ttftMs: 1,
    tokensPerSecond: null,
  };
  const CREDENTIALS = { url: "nats://plane.test:4222", jwt: "a.jwt", seed: "SU", expiresAt: 1_900_000_000_000 };
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  let own: string;
  let others: string;
  let refused: Record<string, Record<string, string>>;
  before(async () => {
    const { hostTokens, apiKeys } = fixture.platform.parts;
    const { host, "other host": other, "suspended host": suspended, builder } = fixture.people;
    const tokenOf = async ({ accountIds: [id] }: { accountIds: Uuid[] }, secrets = hostTokens) =>
      secrets.issue(id as Uuid, "a token");
    own = (await tokenOf(host)).token;
    others = (await tokenOf(other)).token;
    const revoked = await tokenOf(host);
    await hostTokens.revoke(host.accountIds[0] as Uuid, revoked.id);
    refused = {
      "no token": {},
      "a malformed token": bearer("nonsense"),
      "an unknown token": bearer(`tht_live_${"a".repeat(12)}_${"b".repeat(43)}`),
      "a revoked token": bearer(revoked.token),
      "a token with another secret": bearer(`${own.slice(0, -1)}${own.endsWith("x") ? "y" : "x"}`),
      "a suspended host's token": bearer((await tokenOf(suspended)).token),
      "an API key": bearer((await tokenOf(builder, apiKeys)).token),
      "a token of another scheme": { authorization: `Basic ${own}` },
    };
    Object.assign(fixture.platform.outside, { mint: async () => CREDENTIALS, tried: TRIED });
    // The host's signed-in browser sends the request, but a session gives no access to the node API.
    await host.browser.enter(fixture.platform, host.identityId);
  });

  for (const access of NODES) {
    const { at, thing, sent: body, absent, status } = access;
    const send = (id: string, headers: Record<string, string>, head?: "HEAD"): Promise<BrowserResponse> => {
      const { method, url } = operationRequestLine(access, id);
      return fixture.people.host.browser.send(head ?? method, url, { body, headers });
    };
    test(at, async () => {
      const id = thing === undefined ? "none" : await fixture.make(thing);
      // Host tokens are excluded from the comparison, because the time of their last use is stored later.
      const before = await fixture.snapshot(["host_token"]);
      for (const [what, headers] of Object.entries(refused)) {
        assertRefusal(await send(id, headers), "invalid_host_token", what);
      }
      const none = absent && (await send(another(id), bearer(own)));
      if (none !== undefined) {
        assertRefusal(none, absent as string, "one that does not exist");
        const answer = await send(id, bearer(others));
        assert.deepEqual([answer.status, answer.body], [404, none.body], "another's: as if it did not exist");
      }
      assert.equal(await fixture.snapshot(["host_token"]), before, "nothing that was refused changed anything");

      const mine = await send(id, bearer(own));
      assert.equal(mine.status, status, mine.text);
      assertHidden(mine, "host");
      if (at.startsWith("GET ")) assertHead(await send(id, bearer(own), "HEAD"), mine, "HEAD");
      if (none !== undefined) return;
      const theirs = await send(id, bearer(others));
      assert.equal(theirs.status, status, theirs.text);
      assertHidden(theirs, "other host");
    });
  }
});
