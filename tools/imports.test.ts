import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { findCycle, forbidden, importsOf, isTest, readImports } from "./imports.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

test("every import keeps to the matrix of ARCHITECTURE.md", () => {
  const imports = readImports(root);
  for (const part of ["api", "protocol", "gateway", "host", "console"]) {
    assert.ok(
      imports.filter(({ from }) => from.startsWith(`${part}/`)).length > 5,
      `the sources of ${part} were found`,
    );
  }
  const broken = imports.flatMap((edge) => {
    const why = forbidden(edge);
    return why === undefined ? [] : [`${edge.from} → ${edge.to}: ${why}`];
  });
  assert.deepEqual(broken, []);
});

test("there is no import cycle", () => {
  assert.equal(findCycle(readImports(root)), undefined);
});

/** Why what a file imports is not allowed. */
const refused = (file: string, source: string): string =>
  importsOf(file, source)
    .map((edge) => forbidden(edge) ?? "")
    .join("\n");

test("the rules refuse what they should", () => {
  const inGateway = (from: string, to: string): string =>
    refused(`gateway/src/${from}`, `import { x } from "${"../".repeat(from.split("/").length - 1)}${to}";`);
  assert.match(inGateway("ledger/a.ts", "keys/b.ts"), /ledger may not import keys/);
  assert.match(inGateway("base/a.ts", "db/b.ts"), /base may not import db/);
  assert.match(inGateway("keys/a.ts", "config.ts"), /config/);
  assert.equal(inGateway("http/a.ts", "ledger/b.ts"), "");
  const edge = (from: string, to: string) => ({ from, to, typeOnly: false, values: [] });
  assert.deepEqual(findCycle([edge("a", "b"), { ...edge("b", "c"), typeOnly: true }, edge("c", "a")]), [
    ...["a", "b", "c", "a"],
  ]);
  const source =
    'import { x } from "./x.ts";\nimport type { Y } from "@tollgate/protocol/frames.ts";\nawait import("../z.ts");';
  assert.deepEqual(
    importsOf("gateway/src/keys/k.ts", source).map(({ to, values }) => [to, values]),
    [
      ["gateway/src/keys/x.ts", ["x"]],
      ["protocol/src/frames.ts", []],
      ["gateway/src/z.ts", ["*"]],
    ],
  );
});

test("the parts import of each other what they may, and no more", () => {
  const API = 'from "@tollgate/api/route.ts";';
  const PROTOCOL = 'from "@tollgate/protocol/frames.ts";';
  for (const [file, source, why] of [
    ["api/src/a.ts", `import type { X } ${PROTOCOL}`, /api imports nothing/],
    ["api/src/console/a.ts", 'import type { X } from "../../../gateway/src/b.ts";', /api imports nothing/],
    ["protocol/src/a.ts", `import type { X } ${API}`, /protocol imports nothing/],
    ["host/src/a.ts", 'import { x } from "../../gateway/src/b.ts";', /host imports only protocol and types of api/],
    ["host/src/a.ts", `import { x } ${API}`, /only protocol and types of api/],
    // Something stays of it at run time, though nothing is used.
    ["host/src/a.ts", `import { type X } ${API}`, /only protocol and types of api/],
    ["console/src/pages/a.tsx", `import { x } ${API}`, /console imports only types of api/],
    ["console/src/pages/a.tsx", 'const x = await import("@tollgate/api/route.ts");', /only types of api/],
    ["console/src/pages/a.tsx", `import type { X } ${PROTOCOL}`, /console imports only types of api/],
    ["gateway/src/http/a.ts", 'import { x } from "../../../host/src/b.ts";', /gateway imports only api and protocol/],
  ] as [string, string, RegExp][]) {
    assert.match(refused(file, source), why, `${file}: ${source}`);
  }
  for (const [file, source] of [
    ["host/src/a.ts", `import type { X } ${API}\nimport { y } ${PROTOCOL}`],
    ["console/src/pages/a.tsx", `import type { X } ${API}\nimport { y } from "../ui/b.tsx";`],
    ["gateway/src/http/a.ts", `import { x } ${API}\nimport { y } ${PROTOCOL}`],
  ] as [string, string][]) {
    assert.equal(refused(file, source).trim(), "", `${file}: ${source}`);
  }
});

test("handlers refuse with what their routes declare", () => {
  const from = (file: string, names: string): string =>
    refused(`gateway/src/http/${file}`, `import ${names} from "${"../".repeat(file.split("/").length)}faults.ts";`);
  assert.match(from("console/keys.ts", "{ fault, invalidRequest }"), /not with fault$/);
  assert.match(from("console/operator/nodes.ts", "{ notFound as gone }"), /not with notFound$/);
  assert.match(from("nodes/routes.ts", "* as faults"), /not with \*$/);
  assert.equal(from("nodes/routes.ts", "{ type Fault, invalidRequest }"), "");
  assert.equal(from("console/keys.ts", "type { Fault }"), "");
  assert.equal(from("console/live.ts", "{ fault }"), "");
  assert.equal(from("openai/routes.ts", "{ fault }"), "");
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
