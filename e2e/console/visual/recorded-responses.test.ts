/** Checks that the recorded responses match the declared APIs and contain no secrets. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { findDeclarationMismatches } from "./check-recorded-response.ts";
import { type RecordedResponse, readRecording } from "./recording-files.ts";

const recording = readRecording();

describe("the recorded API responses", () => {
  for (const [file, recorded] of recording) {
    test(`${file} matches the API's declaration`, () =>
      assert.deepEqual(findDeclarationMismatches(recorded), [], file));
  }

  test("with a missing, wrong or unknown field are refused, and the error has the field's path", () => {
    const recorded: RecordedResponse = { as: "builder", request: "GET /console/api/balance", status: 200 };
    const body = { object: "balance", as_of: 1, balance_micro: "1.000000", held_micro: 0, more: true };
    const [first, ...others] = findDeclarationMismatches({ ...recorded, body });
    assert.match(first ?? "", /^body\.held_micro: /);
    assert.match(others.join("; "), /^body\.available_micro: .*; body: .*"more"/);
    assert.match(findDeclarationMismatches({ ...recorded, status: 418, body }).join(), /^status: .*418/);
    assert.match(
      findDeclarationMismatches({ ...recorded, request: "GET /console/api/gone" }).join(),
      /no route is declared/,
    );
  });

  test("with a stream event that the API does not declare are refused", () => {
    const events = [{ event: "weather", data: {} }];
    const found = findDeclarationMismatches({ as: "builder", request: "GET /console/api/live", status: 200, events });
    assert.match(found.join(), /^events\.0: .*weather/);
  });

  test("contain no real IDs, keys and tokens, but made-up ones", () => {
    const text = JSON.stringify([...recording.values()]);
    const ids = text.match(/\b(?:[a-z]{2,8}_|chatcmpl-)[0-7][0-9a-hjkmnp-tv-z]{25}\b/g) ?? [];
    const secrets = text.match(/\bt(?:sk|ht)_live_\w+/g) ?? [];
    assert.ok(ids.length > 0 && secrets.length > 0);
    assert.deepEqual(
      ids.filter((id) => !/0{20}\d+$/.test(id)),
      [],
    );
    assert.deepEqual(
      secrets.filter((secret) => !/Example0*\d+$/.test(secret)),
      [],
    );
  });
});
