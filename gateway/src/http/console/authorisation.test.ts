/**
 * Every route of the console against every kind of person, as one table: who is let in, what the others are told, that
 * nobody sees or changes what is another's, and that no other site can make a browser change anything.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { get as httpGet, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { publicId } from "../../base/ids.ts";
import { ACCESS, type Access } from "../testing/access.ts";
import type { Answer, Browser } from "../testing/browser.ts";
import { openWorld, PEOPLE, type Who, type World } from "../testing/world.ts";

type Guard = Access["guard"];
const EVERYBODY_PASSES: Record<Guard, string> = {
  anyone: "passes",
  signedIn: "passes",
  builder: "passes",
  buyer: "passes",
  host: "passes",
  operator: "passes",
};
const builder = { ...EVERYBODY_PASSES, host: "host_only", operator: "operator_only" };
const host = { ...EVERYBODY_PASSES, builder: "member_only", buyer: "not_a_builder", operator: "operator_only" };
const noneOf = (code: string) => ({
  ...EVERYBODY_PASSES,
  builder: code,
  buyer: code,
  host: code,
  operator: "operator_only",
});
/** What each guard tells each person. */
const GUARDS: Record<Who, Record<Guard, string>> = {
  nobody: { ...noneOf("not_authenticated"), signedIn: "not_authenticated", operator: "not_authenticated" },
  "no account": noneOf("no_account"),
  builder,
  host,
  operator: { ...EVERYBODY_PASSES, builder: "member_only", buyer: "member_only", host: "host_only" },
  "suspended builder": noneOf("account_suspended"),
  "suspended host": noneOf("account_suspended"),
  "other builder": builder,
  "other host": host,
};
/** Who owns what a route names. Operators own everything that theirs name. */
const OWNER: Record<Guard, Who> = {
  anyone: "builder",
  signedIn: "builder",
  builder: "builder",
  buyer: "builder",
  host: "host",
  operator: "operator",
};

let world: World;
let address: string;
before(async () => {
  world = await openWorld();
  await world.console.app.listen({ host: "127.0.0.1", port: 0 });
  address = `http://127.0.0.1:${(world.console.app.server.address() as AddressInfo).port}`;
});
after(() => world.close());

type Method = Parameters<Browser["send"]>[0];
const urlOf = ({ route }: Access, id: string): string => route.slice(route.indexOf(" ") + 1).replace(/:\w+/, id);

async function call(access: Access, who: Who, id: string, headers?: Record<string, string>): Promise<Answer> {
  const { browser } = world.people[who];
  const method = access.route.split(" ")[0] as Method;
  if (access.live && GUARDS[who][access.guard] === "passes") return opening(access, browser);
  const { body } = access;
  return browser.send(method, urlOf(access, id), { ...(body !== undefined && { body }), ...(headers && { headers }) });
}

/** One of the same kind that nobody has. */
const another = (id: string): string =>
  id.startsWith("ses_")
    ? publicId("usr", world.console.newId()).replace("usr_", "ses_")
    : publicId(id.slice(0, id.indexOf("_")) as "acc", world.console.newId());

/** The beginning of an answer that does not end. */
async function opening(access: Access, browser: Browser): Promise<Answer> {
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const request = httpGet(`${address}${urlOf(access, "")}`, { headers: { cookie } });
  const [answer] = (await once(request, "response")) as [IncomingMessage];
  const [first] = await once(answer, "data");
  answer.destroy();
  return { status: answer.statusCode ?? 0, headers: answer.headers, text: String(first), body: {} };
}

function assertRefusal(answer: Answer, code: string, what: string): void {
  assert.equal(answer.body.error?.code, code, `${what}: ${answer.text}`);
  assert.deepEqual(Object.keys(answer.body), ["error"]);
  const status = code === "not_authenticated" ? 401 : code.endsWith("not_found") ? 404 : 403;
  assert.equal(answer.status, status, what);
}

/** Nobody is shown what is the builder's or the host's: a builder not even which node served it, a host not for whom it worked. */
function assertHidden({ text }: Answer, who: Who): void {
  if (who === "operator") return;
  for (const owner of ["builder", "host"] as const) {
    // What earned is told by its request's id, which opens nothing.
    const marks = world.marks[owner].filter((mark) => who !== owner && !(who === "host" && mark.startsWith("req_")));
    for (const mark of marks) assert.ok(!text.includes(mark), `${who} is shown ${mark}`);
  }
}

test("every route of the console has its row, and every row its route", async () => {
  const { console } = world;
  const registered: string[] = [];
  for (const path of console.paths) {
    if (!path.startsWith("/console/api/") || path.endsWith("*")) continue;
    // The router itself tells which methods a path takes.
    const { statusCode, headers } = await console.app.inject({ method: "OPTIONS", url: path });
    assert.equal(statusCode, 405, path);
    registered.push(
      ...String(headers.allow)
        .split(", ")
        .map((method) => `${method} ${path}`),
    );
  }
  assert.ok(registered.length > 50);
  assert.deepEqual(registered.sort(), ACCESS.map(({ route }) => route).sort());
});

describe("another site", () => {
  /** As browsers send them: a form on a foreign page, a script of one, a sister site, a sandbox, and whatever says nothing. */
  const ATTEMPTS: Record<string, Record<string, string>> = {
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
  const changing = ACCESS.filter(({ route }) => !route.startsWith("GET "));

  test("changes nothing, whoever's browser it is, on any route that changes anything", async () => {
    assert.ok(changing.length > 30);
    const ids = new Map<Access, string>();
    for (const access of changing)
      ids.set(access, access.thing === undefined ? "none" : await world.make(access.thing));
    const before = await world.picture();
    for (const [access, id] of ids) {
      for (const [attempt, headers] of Object.entries(ATTEMPTS)) {
        const answer = await call(access, OWNER[access.guard], id, headers);
        assertRefusal(answer, "cross_site_blocked", `${attempt}, ${access.route}`);
      }
      assertRefusal(await call(access, "nobody", id, {}), "cross_site_blocked", `nobody, ${access.route}`);
    }
    assert.equal(await world.picture(), before);
  });

  test("is never allowed to read an answer", async () => {
    const headers = { "sec-fetch-site": "cross-site", origin: "https://evil.test" };
    for (const access of ACCESS.filter(({ live }) => live !== true)) {
      const answer = await call(access, "nobody", "none", headers);
      const preflight = await world.console.app.inject({ method: "OPTIONS", url: urlOf(access, "none"), headers });
      assert.equal(preflight.statusCode, 405);
      for (const name of [...Object.keys(answer.headers), ...Object.keys(preflight.headers)]) {
        assert.doesNotMatch(name, /^access-control-/, access.route);
      }
    }
  });
});

describe("every route, every person", () => {
  for (const access of ACCESS) {
    const { route, guard, thing, absent, ok, except } = access;
    test(route, async () => {
      const id = thing === undefined ? "none" : await world.make(thing);
      const none = absent && (await call(access, OWNER[guard], another(id)));
      if (none !== undefined) assertRefusal(none, absent as string, "one that does not exist");

      const before = await world.picture();
      for (const who of PEOPLE.filter((person) => GUARDS[person][guard] !== "passes")) {
        assertRefusal(await call(access, who, id), GUARDS[who][guard], who);
      }
      for (const [who, code] of Object.entries(except ?? {}))
        assertRefusal(await call(access, who as Who, id), code, who);
      const inside = PEOPLE.filter((who) => GUARDS[who][guard] === "passes" && except?.[who] === undefined);
      const strangers = inside.filter((who) => who !== OWNER[guard]);
      for (const who of none === undefined ? [] : strangers) {
        const answer = await call(access, who, id);
        assert.deepEqual([answer.status, answer.body], [404, none?.body], `${who}: as if it did not exist`);
      }
      assert.equal(await world.picture(), before, "nothing that was refused changed anything");

      const mine = await call(access, OWNER[guard], id);
      assert.equal(mine.status, ok, mine.text);
      assertHidden(mine, OWNER[guard]);
      for (const who of none === undefined ? strangers : []) {
        const answer = await call(access, who, id);
        assert.equal(answer.status, ok, `${who}: ${answer.text}`);
        assertHidden(answer, who);
      }
    });
  }
});
