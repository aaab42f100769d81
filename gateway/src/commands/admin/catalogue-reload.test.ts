import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeTerminal } from "@tollgate/terminal/testing/fake-terminal.ts";
import { systemClock } from "../../base/clock.ts";
import { newIds } from "../../base/ids.ts";
import { systemRandom } from "../../base/random.ts";
import { parseConfig } from "../../config.ts";
import { openTestDatabase } from "../../db/testing.ts";
import { openAudit } from "../../operators/audit.ts";
import { reloadCatalogue } from "./catalogue-reload.ts";

test("a reload of the model catalog is recorded in the audit log", async (t) => {
  const { pool, close } = await openTestDatabase();
  t.after(close);
  const newId = newIds(systemClock, systemRandom());
  const terminal = new FakeTerminal();
  const run = {
    pool,
    newId,
    clock: systemClock,
    config: parseConfig({}),
    json: true,
    terminal,
    print: terminal.print,
    args: [],
    flags: {},
    switches: new Set<string>(),
  };
  assert.equal(await reloadCatalogue(run), 0);
  assert.deepEqual(terminal.lines, ['{"announced":true}']);
  const [{ operator, action, outcome } = {}] = await openAudit({ pool, newId }).list({ limit: 2 });
  assert.deepEqual([operator, action, outcome], ["command line", "catalogue.reload", "done"]);
});
