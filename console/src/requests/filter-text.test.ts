import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type FilterTerm, formatFilter, parseFilter } from "./filter-text.ts";

const NAMED = fc.record(
  {
    field: fc.constantFrom("model", "key", "outcome", "label"),
    value: fc.oneof(
      fc.string({ minLength: 1 }),
      fc.string({ unit: fc.constantFrom(" ", '"', "\\", ":", "a", "-", "\n"), minLength: 1 }),
    ),
    not: fc.boolean(),
  },
  { noNullPrototype: true },
) as fc.Arbitrary<FilterTerm>;
const MEASURED = fc.oneof(
  fc.record({ field: fc.constant("tokens"), value: fc.nat().map(String) }, { noNullPrototype: true }),
  fc.record(
    { field: fc.constant("cost"), value: fc.constantFrom("0.01", "$5", "12.000000000001") },
    { noNullPrototype: true },
  ),
  fc.record(
    { field: fc.constantFrom("ttft", "duration"), value: fc.constantFrom("500", "20ms", "1.5s") },
    { noNullPrototype: true },
  ),
);
const COMPARED = fc
  .tuple(MEASURED, fc.constantFrom(">", ">=", "<", "<="))
  .map(([term, op]) => ({ ...term, op })) as fc.Arbitrary<FilterTerm>;

test("parses every printed filter back to the same terms", () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(NAMED, COMPARED)), (terms) => {
      assert.deepEqual(parseFilter(formatFilter(terms)), { terms, wrong: [] });
    }),
  );
});

test("splits any text into valid terms and invalid words", () => {
  const pieces = fc.constantFrom("model:", "-", "outcome", ":", ">", "<=", "cost", '"', "\\", " ", "0.01", "ok", "ü");
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(pieces).map((all) => all.join("")),
      ),
      (text) => {
        const { terms, wrong } = parseFilter(text);
        for (const { word, rule } of wrong) assert.ok(text.includes(word) && rule !== "", word);
        assert.deepEqual(parseFilter(formatFilter(terms)).terms, terms);
      },
    ),
  );
});

test("parses field names, exclusions, comparisons and quotes", () => {
  const { terms, wrong } = parseFilter(
    'model:tiny-3b -outcome:ok label:"nightly \\"run\\"" cost>0.01 TTFT>=1.5s a:b:c',
  );
  assert.deepEqual(terms, [
    { field: "model", value: "tiny-3b", not: false },
    { field: "outcome", value: "ok", not: true },
    { field: "label", value: 'nightly "run"', not: false },
    { field: "cost", op: ">", value: "0.01" },
    { field: "ttft", op: ">=", value: "1.5s" },
  ]);
  assert.deepEqual(
    wrong.map(({ word }) => word),
    ["a:b:c"],
  );
});

test("reports an invalid word with the rule that it violates", () => {
  const rules: Record<string, RegExp> = {
    tiny: /name and a value/,
    "colour:red": /filters are model, key, outcome, label, cost, tokens, ttft, duration/,
    "model:": /write a value after model:/,
    "model>x": /takes a colon: model:x/,
    "cost:1": /compared: use cost> or cost</,
    "-cost>1": /not excluded with a minus/,
    "cost>0,01": /decimal point/,
    "tokens>1.5": /whole number/,
    "ttft>soon": /milliseconds/,
    'label:"open': /ends with a quote/,
  };
  for (const [word, rule] of Object.entries(rules)) {
    const { terms, wrong } = parseFilter(`outcome:ok ${word}`);
    assert.equal(terms.length, 1, word);
    assert.deepEqual(
      wrong.map((one) => one.word),
      [word],
    );
    assert.match(wrong[0]?.rule ?? "", rule);
  }
});
