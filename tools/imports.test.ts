import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import {
  findCycle,
  findImportViolation,
  findRepositoryPart,
  findUnusedRuleEntries,
  IMPORT_RULES,
  importsOf,
  isTestOrHelper,
  readImports,
} from "./imports.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

test("every import follows the rules in ARCHITECTURE.md", () => {
  const imports = readImports(root);
  for (const part of Object.keys(IMPORT_RULES)) {
    const found = imports.filter(({ from }) => from.startsWith(`${part}/`));
    assert.ok(found.length > 0 || ["deploy", "examples"].includes(part), `the imports of ${part} were found`);
  }
  assert.ok(imports.length > 5_000, `${imports.length} imports were found`);
  const broken = imports.flatMap((edge) => {
    const why = findImportViolation(edge);
    return why === undefined ? [] : [`${edge.from} → ${edge.to}: ${why}`];
  });
  assert.deepEqual(broken, []);
});

test("every folder with sources has a row in the table of allowed imports", () => {
  const files = execFileSync("git", ["ls-files", "*.ts", "*.tsx", "*.mjs"], { cwd: root, encoding: "utf8" });
  const folders = new Set(
    files
      .trim()
      .split("\n")
      .map((file) => file.split("/")[0] ?? ""),
  );
  assert.deepEqual(
    [...folders].sort(),
    Object.keys(IMPORT_RULES)
      .filter((part) => !part.includes("/"))
      .sort(),
  );
});

test("every entry in the table of allowed imports matches at least one import", () => {
  assert.deepEqual(findUnusedRuleEntries(readImports(root)), []);
  const needed = readImports(root).filter(({ to }) => to !== "e2e/console-client.ts");
  assert.deepEqual(findUnusedRuleEntries(needed), ["bench: e2e/console-client.ts"]);
});

test("no files import each other in a cycle", () => {
  assert.equal(findCycle(readImports(root)), undefined);
});

/** A source with a dynamic import, written in two parts so that it does not count as an import of this file. */
const LATER = `const x = await import${'("@tollgate/api/route-declaration.ts")'};`;

/** Returns the reasons why the file's imports are not allowed. */
const refused = (file: string, source: string): string =>
  importsOf(file, source)
    .map((edge) => findImportViolation(edge) ?? "")
    .join("\n");

test("the check refuses forbidden imports", () => {
  const inGateway = (from: string, to: string): string =>
    refused(`gateway/src/${from}`, `import { x } from "${"../".repeat(from.split("/").length - 1)}${to}";`);
  assert.match(inGateway("ledger/a.ts", "keys/b.ts"), /ledger may not import keys/);
  assert.match(inGateway("base/a.ts", "db/b.ts"), /base may not import db/);
  assert.match(inGateway("keys/a.ts", "config.ts"), /config/);
  assert.equal(inGateway("config.ts", "./keys/config.ts"), "");
  assert.match(inGateway("config.ts", "./keys/secret-store.ts"), /config\.ts imports base only/);
  assert.match(inGateway("payments/config.ts", "ledger/ledger.ts"), /a folder's config\.ts imports base/);
  assert.equal(inGateway("http/a.ts", "ledger/b.ts"), "");
  const edge = (from: string, to: string) => ({ from, to, typeOnly: false, values: [] });
  assert.deepEqual(findCycle([edge("a", "b"), { ...edge("b", "c"), typeOnly: true }, edge("c", "a")]), [
    ...["a", "b", "c", "a"],
  ]);
  const source = `import { x } from "./x.ts";\nimport type { Y } from "@tollgate/protocol/frames.ts";\nimport "./w.ts";\n${LATER}`;
  assert.deepEqual(
    importsOf("gateway/src/keys/k.ts", source).map(({ to, values }) => [to, values]),
    [
      ["gateway/src/keys/x.ts", ["x"]],
      ["protocol/src/frames.ts", []],
      ["gateway/src/keys/w.ts", ["*"]],
      ["api/src/route-declaration.ts", ["*"]],
    ],
  );
});

test("each part of the repository imports only what the table allows", () => {
  const API = 'from "@tollgate/api/route-declaration.ts";';
  const PROTOCOL = 'from "@tollgate/protocol/frames.ts";';
  for (const [file, source, why] of [
    ["api/src/a.ts", `import type { X } ${PROTOCOL}`, /api imports nothing/],
    ["api/src/console/a.ts", 'import type { X } from "../../../gateway/src/b.ts";', /api imports nothing/],
    ["protocol/src/a.ts", `import type { X } ${API}`, /protocol imports nothing/],
    ["terminal/src/a.ts", `import type { X } ${PROTOCOL}`, /terminal imports nothing/],
    [
      "host/src/a.ts",
      'import { x } from "../../gateway/src/b.ts";',
      /host imports only protocol and terminal and types of api/,
    ],
    ["host/src/a.ts", `import { x } ${API}`, /only protocol and terminal and types of api/],
    // An import whose names are all inline types remains at run time, so it needs to be allowed.
    ["host/src/a.ts", `import { type X } ${API}`, /only protocol and terminal and types of api/],
    ["console/src/pages/a.tsx", `import { x } ${API}`, /console imports only types of api/],
    ["console/src/pages/a.tsx", LATER, /only types of api/],
    ["console/src/pages/a.tsx", `import type { X } ${PROTOCOL}`, /console imports only types of api/],
    [
      "gateway/src/http/a.ts",
      'import { x } from "../../../host/src/b.ts";',
      /gateway imports only api and protocol and terminal/,
    ],
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

test("product code imports no test code", () => {
  for (const [file, to] of [
    ["gateway/src/ledger/a.ts", "./testing.ts"],
    ["gateway/src/http/a.ts", "../accounts/testing/session.ts"],
    ["gateway/src/dispatch/a.ts", "./nats/testing-cable.ts"],
    ["gateway/src/metering/a.ts", "./fixtures/fixtures.ts"],
    ["gateway/bin/a.mjs", "../src/base/testing.ts"],
    ["host/src/a.ts", "./testing/manual-clock.ts"],
    ["console/src/a.tsx", "./testing/b.ts"],
    ["gateway/src/http/a.ts", "@tollgate/protocol/testing.ts"],
  ] as [string, string][]) {
    assert.match(
      refused(file, `import { x } from "${to}";`),
      /product code may not import test code/,
      `${file} → ${to}`,
    );
    assert.match(refused(file, `import type { X } from "${to}";`), /product code may not import test code/);
  }
  assert.equal(refused("gateway/src/ledger/a.test.ts", 'import { x } from "../db/testing.ts";'), "");
  assert.equal(refused("gateway/src/ledger/testing.ts", 'import { x } from "../db/testing.ts";'), "");
  for (const part of ["api", "protocol", "terminal", "demo-provider", "gateway", "host", "console"]) {
    for (const to of ["@tollgate/stage/wait.ts", "../../e2e/platform.ts", "../../tools/imports.ts"]) {
      assert.match(refused(`${part}/src/a.ts`, `import { x } from "${to}";`), new RegExp(`^${part} imports`), to);
    }
  }
});

test("only the gateway's dev command and tests may import the demo provider", () => {
  const source = 'import { x } from "@tollgate/demo-provider/demo-provider.ts";';
  for (const file of ["src/payments/a.ts", "src/build/a.ts", "src/commands/serve.ts", "bin/a.mjs"]) {
    assert.match(refused(`gateway/${file}`, source), /only the dev command and tests/, file);
  }
  for (const file of ["src/commands/dev.ts", "src/payments/a.test.ts", "src/payments/testing-payments.ts"]) {
    assert.equal(refused(`gateway/${file}`, source), "", file);
  }
});

test("no file may import a *.test.ts file", () => {
  for (const [file, to] of [
    ["gateway/src/ledger/a.ts", "./b.test.ts"],
    ["gateway/src/ledger/a.test.ts", "./b.test.ts"],
    ["bench/a.ts", "../gateway/src/ledger/b.test.ts"],
    ["e2e/a.test.ts", "./b.test.ts"],
  ] as [string, string][]) {
    assert.match(refused(file, `import { x } from "${to}";`), /nothing may import a/, `${file} → ${to}`);
  }
});

test("tests, suites and tools import only what the table of allowed imports lists for them", () => {
  const rows: [file: string, allowed: string[], forbidden: string[]][] = [
    ["api/src/a.test.ts", ["./b.ts"], ["@tollgate/stage/wait.ts", "@tollgate/protocol/frames.ts"]],
    ["protocol/src/a.test.ts", ["./b.ts"], ["@tollgate/stage/wait.ts", "@tollgate/api/route-declaration.ts"]],
    ["terminal/src/a.test.ts", ["./b.ts"], ["@tollgate/stage/wait.ts", "@tollgate/protocol/frames.ts"]],
    [
      "demo-provider/src/a.test.ts",
      ["@tollgate/stage/wait.ts", "@tollgate/protocol/frames.ts"],
      ["@tollgate/stage/load-balancer.ts", "../../gateway/src/base/b.ts", "@tollgate/api/route-declaration.ts"],
    ],
    [
      "gateway/src/keys/a.test.ts",
      ["@tollgate/stage/wait.ts", "../ledger/b.ts", "../../../tools/nats-servers.ts"],
      [
        "@tollgate/stage/load-balancer.ts",
        "../../../host/src/b.ts",
        "../../../e2e/b.ts",
        "../../../tools/third-party-programs.ts",
      ],
    ],
    ["host/src/a.test.ts", ["@tollgate/stage/wait.ts"], ["@tollgate/stage/b.ts", "../../gateway/src/b.ts"]],
    [
      "console/src/a.test.ts",
      ["@tollgate/stage/wait.ts"],
      ["@tollgate/stage/b.ts", "@tollgate/api/route-declaration.ts"],
    ],
    [
      "gateway/tools/a.ts",
      ["../src/db/testing.ts"],
      ["@tollgate/api/route-declaration.ts", "../../tools/third-party-programs.ts"],
    ],
    ["console/vite.config.ts", ["./tools/a.ts", "./src/b.ts"], ["../gateway/src/b.ts"]],
    ["console/src/a.ts", ["./b.ts"], ["../tools/sizes.ts", "../vite.config.ts"]],
    ["examples/typescript/a.ts", ["./b.ts"], ["@tollgate/api/route-declaration.ts", "../../e2e/b.ts"]],
    ["deploy/image/a.mjs", ["./b.mjs"], ["../../gateway/src/b.ts"]],
    [
      "tools/a.ts",
      ["@tollgate/stage/wait.ts", "../gateway/src/db/testing.ts", "../console/src/ui/markdown/b.ts"],
      ["../gateway/src/ledger/b.ts", "../e2e/b.ts", "../chaos/b.ts", "./dashboards/run.ts", "@tollgate/stage/b.ts"],
    ],
    [
      "tools/dashboards/a.ts",
      ["../peers.ts", "../../chaos/b.ts", "../../e2e/outside/b.ts"],
      ["../../e2e/platform.ts", "../../bench/b.ts", "../../gateway/src/b.ts"],
    ],
    [
      "stage/a.ts",
      [
        "./b.ts",
        "../gateway/src/http/b.ts",
        "../host/src/testing/b.ts",
        "@tollgate/api/route-declaration.ts",
        "../tools/third-party-programs.ts",
      ],
      ["../e2e/b.ts", "../chaos/b.ts", "../sim/b.ts", "../console/src/b.ts", "../tools/dashboards/run.ts"],
    ],
    [
      "e2e/console/a.test.ts",
      ["@tollgate/stage/b.ts", "../../gateway/src/db/testing.ts", "../../host/src/b.ts", "../../examples/b.ts"],
      ["../../gateway/src/inference/b.ts", "../../chaos/b.ts", "../../bench/b.ts", "../../console/src/b.ts"],
    ],
    [
      "chaos/a.ts",
      ["@tollgate/stage/b.ts", "../gateway/src/db/private-postgres/b.ts", "../tools/install-test-servers.ts"],
      ["../gateway/src/inference/b.ts", "../e2e/fuzz/b.ts", "../host/src/b.ts", "../tools/dashboards/run.ts"],
    ],
    [
      "sim/actors/a.ts",
      ["@tollgate/stage/b.ts", "../../gateway/src/inference/b.ts", "@tollgate/protocol/frames.ts"],
      ["../../host/src/b.ts", "../../e2e/b.ts", "../../tools/b.ts", "../../gateway/tools/b.ts"],
    ],
    [
      "engines/a.ts",
      ["@tollgate/stage/b.ts", "../gateway/tools/tokenizers/b.ts"],
      ["../e2e/golden/b.ts", "../gateway/src/b.ts", "../host/src/b.ts", "../gateway/tools/b.ts"],
    ],
    [
      "engines/spot-checks/a.ts",
      ["../servers/b.ts", "../../gateway/src/trust/b.ts", "../../host/src/engines/b.ts", "@tollgate/stage/b.ts"],
      ["../../gateway/src/ledger/b.ts", "../../sim/b.ts", "../../e2e/b.ts"],
    ],
    [
      "engines/costly-prompts/a.ts",
      ["../model/b.ts", "../../gateway/src/metering/b.ts", "../../bench/metering/b.ts", "../../host/src/engines/b.ts"],
      ["../../gateway/src/ledger/b.ts", "../../sim/b.ts", "../../e2e/b.ts"],
    ],
    [
      "bench/gateway/a.ts",
      ["@tollgate/stage/b.ts", "../../gateway/src/ledger/b.ts", "../../e2e/fuzz/b.ts", "../../host/src/b.ts"],
      ["../../sim/b.ts", "../../chaos/b.ts", "../../e2e/golden/b.ts", "../../console/src/b.ts"],
    ],
  ];
  for (const [file, allowed, others] of rows) {
    for (const to of allowed) assert.equal(refused(file, `import { x } from "${to}";`), "", `${file} → ${to}`);
    for (const to of others) assert.match(refused(file, `import { x } from "${to}";`), /imports/, `${file} → ${to}`);
  }
  const untested = Object.keys(IMPORT_RULES).filter(
    (part) => !rows.some(([file]) => findRepositoryPart(file) === part),
  );
  assert.deepEqual(untested, [], "a row without an example");
  assert.match(
    refused("newcomer/a.ts", 'import { x } from "../api/src/route-declaration.ts";'),
    /newcomer has no place/,
  );
});

test("route handlers fail only with the errors that their routes declare", () => {
  const from = (file: string, names: string): string =>
    refused(`gateway/src/routes/${file}`, `import ${names} from "${"../".repeat(file.split("/").length)}faults.ts";`);
  assert.match(from("console/keys.ts", "{ fault, invalidRequest }"), /not with fault$/);
  assert.match(from("console/operator/nodes.ts", "{ notFound as gone }"), /not with notFound$/);
  assert.match(from("nodes/routes.ts", "* as faults"), /not with \*$/);
  assert.equal(from("nodes/routes.ts", "{ type Fault, invalidRequest }"), "");
  assert.equal(from("console/keys.ts", "type { Fault }"), "");
  assert.equal(from("console/live-feeds.ts", "{ fault }"), "");
  assert.equal(from("openai/routes.ts", "{ fault }"), "");
});

test("only base/ reads the clock, sets timers and draws random numbers in the gateway", () => {
  const files = globSync("gateway/src/**/*.ts", { cwd: root }).filter((file) => !isTestOrHelper(file));
  const bare = /\b(Date\.now|Math\.random|setTimeout|setInterval)\(|\bnew Date\(\)/;
  const guilty = files.filter(
    (file) => !file.startsWith("gateway/src/base/") && bare.test(readFileSync(join(root, file), "utf8")),
  );
  assert.deepEqual(guilty, []);
});

test("only config.ts and the commands read environment variables in the gateway", () => {
  const files = globSync("gateway/src/**/*.ts", { cwd: root }).filter((file) => !isTestOrHelper(file));
  const guilty = files.filter(
    (file) =>
      !/gateway\/src\/(config\.ts|commands\/)/.test(file) &&
      readFileSync(join(root, file), "utf8").includes("process.env"),
  );
  assert.deepEqual(guilty, []);
});
