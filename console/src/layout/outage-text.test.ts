import assert from "node:assert/strict";
import { test } from "node:test";
import { describeOutage } from "./outage-text.ts";

const AT = new Date(2026, 10, 5, 6, 30, 9).getTime();

test("names the unreachable dependencies, the start of the outage and the age of the data", () => {
  const unreachable = [{ part: "database" as const, since: AT / 1000, needed: true }];
  assert.equal(
    describeOutage({ unreachable, dataAt: AT - 20_000 }),
    "The platform's database is unreachable since 06:30:09. Showing data from 06:29:49",
  );
  assert.equal(
    describeOutage({ unreachable, dataAt: undefined }),
    "The platform's database is unreachable since 06:30:09",
  );
});

test("says only that the platform is slow if requests do not need the unreachable dependency", () => {
  const unreachable = [{ part: "limits" as const, since: AT / 1000, needed: false }];
  assert.equal(
    describeOutage({ unreachable, dataAt: AT }),
    "The platform is slow to answer. Showing data from 06:30:09",
  );
});
