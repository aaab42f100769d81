import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { CatalogueError, loadCatalogue, parseCatalogue } from "./catalogue.ts";

const FILE = new URL("../../catalogue/models.json", import.meta.url);

describe("model catalogue", () => {
  test("has the eight models, contexts and prices of the specification", async () => {
    const { entries, active } = await loadCatalogue(FILE);
    const rows = entries.map((e) => [
      e.id,
      e.class,
      e.context_limit,
      e.price_in_micro_1m,
      e.price_out_micro_1m,
      e.status,
      e.quant_label,
    ]);
    assert.deepEqual(rows, [
      ["tiny-3b", "tiny", 8192, 20_000, 40_000, "active", "4-bit"],
      ["small-8b", "small", 16_384, 30_000, 70_000, "active", "4-bit"],
      ["small-7b-alt", "small", 32_768, 40_000, 80_000, "active", "4-bit"],
      ["mid-14b", "mid", 32_768, 60_000, 150_000, "active", "4-bit"],
      ["reason-32b", "reasoning", 32_768, 100_000, 300_000, "active", "4-bit"],
      ["embed-m3", "embed", 8192, 10_000, null, "active", "fp16"],
      ["large-70b", "large", null, null, null, "coming", "unannounced"],
      ["ultra35-30b", "large", 1_048_576, null, null, "coming", "unannounced"],
    ]);
    assert.deepEqual([...active.keys()], ["tiny-3b", "small-8b", "small-7b-alt", "mid-14b", "reason-32b", "embed-m3"]);
    assert.equal(active.get("tiny-3b")?.prices.out, 40_000n);
  });

  test("shows 'unannounced' as the quantization of a model if the catalogue file omits it", () => {
    const changed = file();
    changed.models[0] = { ...changed.models[0], quant_label: null };
    assert.equal(parseCatalogue(JSON.stringify(changed), "test.json").entries[0]?.quant_label, "unannounced");
  });

  const file = (): { models: Record<string, unknown>[] } & Record<string, unknown> =>
    JSON.parse(readFileSync(FILE, "utf8"));
  for (const [name, change, rule] of [
    [
      "a field of the wrong type",
      (f) => (f.models[0] = { ...f.models[0], context_limit: "8k" }),
      /models\.0\.context_limit/,
    ],
    ["an unknown field", (f) => (f.models[0] = { ...f.models[0], contextlimit: 1 }), /contextlimit/],
    [
      "an active model without a price",
      (f) => (f.models[0] = { ...f.models[0], price_in_micro_1m: null }),
      /active model tiny-3b$/,
    ],
    ["the same model twice", (f) => f.models.push(f.models[0] as Record<string, unknown>), /tiny-3b twice/],
    ["no price version", (f) => delete f.price_version, /price_version/],
  ] as [string, (f: ReturnType<typeof file>) => unknown, RegExp][]) {
    test(`refuses ${name} with one line that describes the mistake`, () => {
      const changed = file();
      change(changed);
      assert.throws(
        () => parseCatalogue(JSON.stringify(changed), "test.json"),
        (error: Error) => {
          assert.ok(error instanceof CatalogueError);
          assert.match(error.message, rule);
          return !error.message.includes("\n");
        },
      );
    });
  }

  test("refuses a catalogue file that is missing or malformed, and the error contains the file's name", async () => {
    await assert.rejects(loadCatalogue("/nowhere/models.json"), /\/nowhere\/models\.json cannot be read/);
    assert.throws(() => parseCatalogue("{", "x.json"), /x\.json is not valid JSON/);
  });
});
