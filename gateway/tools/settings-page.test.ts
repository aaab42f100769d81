import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { SETTING_NAMES, SETTINGS_DOMAINS } from "../src/config.ts";
import { SETTINGS_PAGE, settingsPage } from "./settings-page.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const filesOf = (...patterns: string[]): string[] =>
  globSync(patterns, { cwd: root, exclude: ["**/node_modules/**"], withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => file !== fileURLToPath(SETTINGS_PAGE));

/** Names in deploy/ and the operators' guides that look like settings of the gateway but are not. */
const OTHERS = [
  // Environment variables of Node and the C library.
  ...["NODE_ENV", "NODE_OPTIONS", "NODE_EXTRA_CA_CERTS", "MALLOC_ARENA_MAX"],
  // Environment variables of the host agent.
  ...["TOLLGATE_HOST_TOKEN", "TOLLGATE_HOST_FLAGS"],
  // Variables of other container images, Envoy and systemd.
  ...["POSTGRES_USER", "POSTGRES_DB", "POSTGRES_PASSWORD_FILE", "TOLLGATE_VERSION", "STRICT_DNS", "LEAST_REQUEST"],
  ...["AF_INET", "AF_INET6", "AF_UNIX"],
  // OpenTelemetry variables that its packages read themselves.
  ...["OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES", "OTEL_EXPORTER_OTLP_HEADERS"],
  // Placeholders in usage lines.
  ...["GATE_NAME", "PLANE_NAME", "ROUTE_HOST"],
];

test("docs/operators/settings.md matches the declarations of settings", () => {
  const message = "out of date: run npx node gateway/tools/write-settings.ts";
  assert.equal(readFileSync(SETTINGS_PAGE, "utf8"), settingsPage(), message);
});

test("deploy/ and the operators' guides name only settings that exist", () => {
  const files = filesOf("deploy/**", "docs/operators/*.md", "README.md").filter(
    (file) => !file.includes("/grafana/dashboards/"),
  );
  assert.ok(files.length > 30, "the files were found");
  const found = new Set<string>();
  const unknown = files.flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(/(?<!\w)[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?!\w)/g)]
      .map(([name]) => name)
      .filter((name) => !name.startsWith("PATRONI_"))
      .filter((name) => found.add(name) && !SETTING_NAMES.includes(name) && !OTHERS.includes(name))
      .map((name) => `${file}: ${name}`),
  );
  assert.deepEqual(unknown, []);
  assert.deepEqual(
    OTHERS.filter((name) => !found.has(name)),
    [],
    "exceptions that nothing needs",
  );
});

test("no suite, benchmark or tool sets a retired setting", () => {
  const retired = SETTINGS_DOMAINS.flatMap(({ retired: names = {} }) => Object.keys(names));
  const files = filesOf("{bench,chaos,e2e,engines,sim,stage,tools}/**/*.ts");
  assert.ok(files.length > 100, "the files were found");
  const setting = files.filter((file) => new RegExp(`\\b(${retired.join("|")})\\b`).test(readFileSync(file, "utf8")));
  assert.deepEqual(setting, []);
});

test("every setting has one sentence of help", () => {
  for (const [name, { help }] of SETTINGS_DOMAINS.flatMap(({ settings }) => Object.entries(settings))) {
    assert.match(help, /^[A-Z`].*[^.]\.$/, name);
    assert.ok(!/\. [A-Z]/.test(help), `${name}: one sentence`);
  }
});
