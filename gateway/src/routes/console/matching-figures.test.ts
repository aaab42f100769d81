/** Pages that show the same requests in different ways agree about their number and charge. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { publicId, type Uuid } from "../../base/ids.ts";
import { DAY_MS, HOUR_MS, startOfDay } from "../../base/time.ts";
import { insertServedRequest } from "../testing/past-requests.ts";
import { openTestPlatform, type TestPlatform } from "../testing/platform.ts";
import { type Person, signInTestPerson } from "../testing/sign-in-test-person.ts";

let platform: TestPlatform;
before(async () => {
  platform = await openTestPlatform();
});
after(() => platform.close());

/** The gateway's time in a test. It is yesterday, so that no request is in the future of the database's clock. */
const yesterdayAt = (sinceMidnightMs: number): number => startOfDay(Date.now()).getTime() - DAY_MS + sinceMidnightMs;

for (const [timeOfDay, now] of [
  ["midnight", yesterdayAt(0)],
  ["06:30", yesterdayAt(6.5 * HOUR_MS)],
  ["the end of a day", yesterdayAt(DAY_MS - 1)],
] as const) {
  test(`every page shows the same number of requests and the same charge for the same range, for account and operator, at ${timeOfDay}`, async () => {
    const served = { ...platform, app: platform.serve({ now: () => now }) };
    const person = await signInTestPerson(served, [{ kind: "builder" }]);
    const operator = await signInTestPerson(served, [], { operator: true });
    const account = person.accountIds[0] as Uuid;
    const keys = [platform.newId(), platform.newId()];
    // A range of 7 days begins at midnight UTC six days ago, so it is 6 days long at midnight.
    const days = [0.1, 0.9, 1, 1.1, 2.5, 4, 5.9];
    for (const [i, ago] of days.entries()) {
      await insertServedRequest(platform, {
        accountId: account,
        keyId: keys[i % 2] as Uuid,
        model: i % 3 === 0 ? "small-8b" : "tiny-3b",
        outcome: i === 4 ? "upstream_failed" : "ok",
        ...(i === 2 && { label: "batch" }),
        charge: 1_333_333n * BigInt(i + 1),
        at: new Date(now - ago * DAY_MS),
      });
    }
    await platform.rollUp();
    const read = async ({ browser }: Person, path: string) => {
      const { status, body, text } = await browser.send("GET", `/console/api/${path}`);
      assert.equal(status, 200, text);
      return body as Record<string, unknown>;
    };
    const ofAccount = `operator/accounts/${publicId("acc", account)}`;
    const activity = await read(operator, `${ofAccount}/activity?range=7d`);
    const [from, to] = [Number(activity.from), Number(activity.to)].map((at) => new Date(at * 1000).toISOString());
    const span = `from=${from}&to=${to}`;
    type Sum = { requests: number | null; charge_micro?: string; amount_micro?: string; kind?: string };
    const total = (rows: unknown): [number, bigint] => {
      const sums = rows as Sum[];
      const micro = (text = "0"): bigint => BigInt(text.replace(".", "").replace("-", ""));
      return [
        sums.reduce((sum, { requests }) => sum + Number(requests), 0),
        sums.reduce((sum, { charge_micro, amount_micro }) => sum + micro(charge_micro ?? amount_micro), 0n),
      ];
    };
    const platformFigures = await read(operator, "operator/performance?range=7d");
    const spenders = platformFigures.top_accounts as (Sum & { account: string })[];
    const shown: Record<string, unknown> = {
      "the account page's total": [activity.total],
      "the account page's chart": activity.series,
      "the account page's models": activity.models,
      "the platform page's spender": spenders.filter(({ account: id }) => id === publicId("acc", account)),
      "the request list's totals": [await read(person, `requests/totals?${span}`)],
      "the request list": ((await read(person, `requests?${span}`)).data as Sum[]).map((one) => ({
        ...one,
        requests: 1,
      })),
    };
    for (const by of ["key", "model", "outcome", "day", "hour", "label"]) {
      shown[`usage by ${by}`] = (await read(person, `usage?by=${by}&${span}`)).data;
    }
    for (const [name, path, who] of [
      ["the statement", "statement", person],
      ["the operator's statement", `${ofAccount}/statement`, operator],
    ] as const) {
      shown[name] = ((await read(who, path)).data as Sum[]).filter(({ kind }) => kind === "usage");
    }
    const expected = [days.length, 1_333_333n * BigInt((days.length * (days.length + 1)) / 2)];
    for (const [name, rows] of Object.entries(shown)) assert.deepEqual(total(rows), expected, name);
  });
}
