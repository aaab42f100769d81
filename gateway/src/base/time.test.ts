import assert from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS, startOfDay, startOfMonth } from "./time.ts";

for (const zone of ["UTC", "Asia/Kolkata", "America/Los_Angeles", "Pacific/Kiritimati"]) {
  test(`days and months begin at midnight UTC when the process's time zone is ${zone}`, (t) => {
    const before = process.env.TZ;
    t.after(() => {
      if (before === undefined) delete process.env.TZ;
      else process.env.TZ = before;
    });
    process.env.TZ = zone;
    const june = Date.UTC(2031, 5, 1);
    assert.equal(startOfMonth(june - 1).getTime(), Date.UTC(2031, 4, 1));
    assert.equal(startOfMonth(june).getTime(), june);
    assert.equal(startOfDay(june - 1).getTime(), june - DAY_MS);
    assert.equal(startOfDay(june).getTime(), june);
  });
}
