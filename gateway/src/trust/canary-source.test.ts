import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { seededRandom } from "../base/testing.ts";
import { type ActiveModel, loadCatalogue } from "../metering/catalogue.ts";
import { CanariesError, loadSecretCanaries, openCanarySource, parseSecretCanaries } from "./canary-source.ts";

const catalogue = await loadCatalogue(new URL("../../catalogue/models.json", import.meta.url));
const parse = (file: unknown) =>
  parseSecretCanaries(typeof file === "string" ? file : JSON.stringify(file), { name: "secret.json", catalogue });
const SECRET = { prompt: "marzipan?", expect: "marzipan!", max_tokens: 8 };

describe("an operator's own canaries", () => {
  test("are parsed from JSON, by model, in the format of the catalogue's canaries", async (t) => {
    const near = ["a", "b"];
    const secrets = parse({ "tiny-3b": [SECRET, { ...SECRET, forbid: "x" }], "embed-m3": [{ near, far: "c" }] });
    assert.deepEqual([secrets.get("tiny-3b")?.length, secrets.get("embed-m3")], [2, [{ near, far: "c" }]]);
    assert.equal((await loadSecretCanaries(undefined, catalogue)).size, 0);
    const place = await mkdtemp(join(tmpdir(), "tollgate-canaries-"));
    t.after(() => rm(place, { recursive: true }));
    const file = join(place, "c.json");
    await writeFile(file, JSON.stringify({ "tiny-3b": [SECRET] }));
    assert.deepEqual((await loadSecretCanaries(file, catalogue)).get("tiny-3b"), [SECRET]);
    await assert.rejects(loadSecretCanaries(join(place, "none.json"), catalogue), /none\.json cannot be read: ENOENT$/);
  });

  test("are refused with the position of each mistake, without quoting their content", () => {
    const table: [unknown, RegExp][] = [
      ['{"marzipan', /^CANARIES_FILE secret\.json: it is not valid JSON$/],
      [[SECRET], /it must be an object/],
      [{ "gpt-9": [SECRET] }, /gpt-9 is not an active model/],
      [{ "large-70b": [SECRET] }, /large-70b is not an active model/],
      [{ "tiny-3b": [] }, /tiny-3b must not be empty/],
      [{ "tiny-3b": "marzipan" }, /tiny-3b is invalid/],
      [
        { "tiny-3b": [SECRET, { ...SECRET, expect: "(marzipan" }] },
        /tiny-3b\[1\]\.expect must be a regular expression/,
      ],
      [{ "tiny-3b": [{ ...SECRET, max_tokens: 0 }] }, /tiny-3b\[0\]\.max_tokens is invalid/],
      [{ "tiny-3b": [{ ...SECRET, marzipan: 1 }] }, /tiny-3b\[0\] must have the fields prompt, expect and max_tokens/],
      [{ "tiny-3b": ["marzipan"] }, /tiny-3b\[0\] must have/],
      [
        { "tiny-3b": [{ near: ["marzipan", "b"], far: "c" }] },
        /tiny-3b\[0\] must have the fields prompt, expect and max_tokens/,
      ],
      [{ "embed-m3": [SECRET] }, /embed-m3\[0\] must have the fields near and far/],
    ];
    for (const [file, message] of table) {
      assert.throws(
        () => parse(file),
        (error: Error) => {
          assert.ok(error instanceof CanariesError);
          assert.match(error.message, message);
          assert.doesNotMatch(`${error.message} ${String(error.cause)}`, /marzipan/);
          return !error.message.includes("\n");
        },
      );
    }
  });

  test("are an empty list for a model that has none", () => {
    const model = catalogue.active.get("tiny-3b") as ActiveModel;
    const plain = { ...catalogue, active: new Map([["tiny-3b", { ...model, canaries: null }]]) };
    const text = JSON.stringify({ "tiny-3b": [SECRET] });
    assert.throws(() => parseSecretCanaries(text, { name: "f", catalogue: plain }), /tiny-3b gets no canaries/);
  });
});

describe("choosing a canary", () => {
  const model = catalogue.active.get("tiny-3b") as ActiveModel;
  const published = (model.canaries ?? []).map((canary) => ("prompt" in canary ? canary.prompt : ""));
  const draws = (of: ActiveModel, secrets: Map<string, (typeof SECRET)[]>, which: "any" | "unknown") => {
    const draw = openCanarySource({ secrets, random: seededRandom(1) });
    const prompts = Array.from({ length: 600 }, () => draw(of, which)?.messages.at(-1)?.content);
    const secret = prompts.filter((prompt) => prompt === SECRET.prompt).length;
    const known = prompts.filter((prompt) => published.includes(prompt ?? "")).length;
    return { secret, known, madeUp: 600 - secret - known - prompts.filter((prompt) => prompt === undefined).length };
  };
  const about = (count: number, of: number): boolean => Math.abs(count - of) < 90;

  test("draws from each source equally often, so that at least half of the canaries cannot be looked up", () => {
    const two = draws(model, new Map(), "any");
    assert.ok(two.secret === 0 && about(two.known, 300) && about(two.madeUp, 300), JSON.stringify(two));
    const three = draws(model, new Map([["tiny-3b", [SECRET]]]), "any");
    assert.ok(
      [three.secret, three.known, three.madeUp].every((count) => about(count, 200)),
      JSON.stringify(three),
    );
    const others = draws(model, new Map([["small-8b", [SECRET]]]), "any");
    assert.equal(others.secret, 0, "another model's are not asked");
  });

  test("draws no published canary if only unpublished ones are allowed, and none for a model without canaries", () => {
    const unknown = draws(model, new Map([["tiny-3b", [SECRET]]]), "unknown");
    assert.ok(unknown.known === 0 && about(unknown.secret, 300), JSON.stringify(unknown));
    const none = draws({ ...model, canaries: null }, new Map(), "any");
    assert.deepEqual(none, { secret: 0, known: 0, madeUp: 0 });
    assert.equal(draws({ ...model, canaries: [] }, new Map(), "any").madeUp, 600);
  });
});
