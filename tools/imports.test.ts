import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { findCycle, forbidden, importsOf, isTest, readImports } from "./imports.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

test("every import keeps to the matrix of ARCHITECTURE.md", () => {
  const imports = readImports(root);
  assert.ok(imports.length > 100, "the sources were found");
  const broken = imports.flatMap((edge) => {
    const why = forbidden(edge);
    return why === undefined ? [] : [`${edge.from} → ${edge.to}: ${why}`];
  });
  assert.deepEqual(broken, []);
});

test("there is no import cycle", () => {
  assert.equal(findCycle(readImports(root)), undefined);
});

test("the rules refuse what they should", () => {
  const edge = (from: string, to: string) => ({
    from: `gateway/src/${from}`,
    to: `gateway/src/${to}`,
    typeOnly: false,
  });
  assert.match(forbidden(edge("ledger/a.ts", "keys/b.ts")) ?? "", /ledger may not import keys/);
  assert.match(forbidden(edge("base/a.ts", "db/b.ts")) ?? "", /base may not import db/);
  assert.match(forbidden(edge("keys/a.ts", "config.ts")) ?? "", /config/);
  assert.equal(forbidden(edge("http/a.ts", "ledger/b.ts")), undefined);
  assert.match(forbidden({ from: "host/src/a.ts", to: "gateway/src/b.ts", typeOnly: false }) ?? "", /only protocol/);
  assert.deepEqual(
    findCycle([
      { from: "a", to: "b", typeOnly: false },
      { from: "b", to: "c", typeOnly: true },
      { from: "c", to: "a", typeOnly: false },
    ]),
    ["a", "b", "c", "a"],
  );
  const source =
    'import { x } from "./x.ts";\nimport type { Y } from "@tollgate/protocol/frames.ts";\nawait import("../z.ts");';
  assert.deepEqual(
    importsOf("gateway/src/keys/k.ts", source).map(({ to }) => to),
    ["gateway/src/keys/x.ts", "protocol/src/frames.ts", "gateway/src/z.ts"],
  );
});

test("only base/ reads the clock, sets timers and draws random numbers in the gateway", () => {
  const files = globSync("gateway/src/**/*.ts", { cwd: root }).filter((file) => !isTest(file));
  const bare = /\b(Date\.now|Math\.random|setTimeout|setInterval)\(|\bnew Date\(\)/;
  const guilty = files.filter(
    (file) => !file.startsWith("gateway/src/base/") && bare.test(readFileSync(join(root, file), "utf8")),
  );
  assert.deepEqual(guilty, []);
});

test("only config.ts and the commands read the environment of the gateway", () => {
  const files = globSync("gateway/src/**/*.ts", { cwd: root }).filter((file) => !isTest(file));
  const guilty = files.filter(
    (file) =>
      !/gateway\/src\/(config\.ts|commands\/)/.test(file) &&
      readFileSync(join(root, file), "utf8").includes("process.env"),
  );
  assert.deepEqual(guilty, []);
});
