/**
 * No role sees a control whose request would get 403. Each hook that changes something calls a route that needs a
 * permission. Every chain of imports from a page to the hook contains a file that asks for this permission.
 */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { consoleApi } from "@tollgate/api/console/api.ts";
import { findRequiredPermission, type Permission } from "@tollgate/api/roles.ts";
import type { Route } from "@tollgate/api/route-declaration.ts";

const SRC = fileURLToPath(new URL("../console/src/", import.meta.url));
/** Guards of routes that act for an account, in which the person has a role. */
const ACCOUNT_GUARDS = ["account", "builder", "host", "buyer"];

/** Files that ask for the permission on behalf of those that import them and pass their dialogs. */
const GATES: Record<string, Permission> = { "secrets/secrets-page.tsx": "work", "keys/key-permissions.ts": "work" };

const files = globSync("**/*.{ts,tsx}", { cwd: SRC }).filter((file) => !file.includes(".test."));
const texts = new Map(files.map((file) => [file, readFileSync(join(SRC, file), "utf8")]));
const textOf = (file: string): string => texts.get(file) ?? "";
const importsOf = (file: string): string[] =>
  [...textOf(file).matchAll(/(?:from|import\() ?"(\.[^"]+)"/g)].map(([, path = ""]) => join(dirname(file), path));
const importers = Map.groupBy(
  files.flatMap((file) => importsOf(file).map((imported) => ({ file, imported }))),
  ({ imported }) => imported,
);

interface Change {
  hook: string;
  file: string;
  need: Permission;
}

/** The hooks that call a route which changes something in an account, and which not every role may call. */
function listChanges(): Change[] {
  const routes = new Map(
    consoleApi.tables.flatMap(({ routes: table }) => Object.values<Route>(table).map((route) => [route.at, route])),
  );
  return files.flatMap((file) =>
    textOf(file)
      .split(/^export /m)
      .flatMap((part) => {
        const hook = /^(?:const|function) (use\w+)/.exec(part)?.[1];
        const called = [...part.matchAll(/"((?:POST|PUT|PATCH|DELETE) \/console\/api\/[^"]+)"/g)];
        return called.flatMap(([, at = ""]) => {
          const route = routes.get(at as Route["at"]);
          if (hook === undefined || route === undefined || !ACCOUNT_GUARDS.includes(route.guard)) return [];
          const need = findRequiredPermission(route);
          return need === "read" ? [] : [{ hook, file, need }];
        });
      }),
  );
}

const asksFor = (file: string, need: Permission): boolean =>
  new RegExp(`["']${need}["']`).test(textOf(file)) || importsOf(file).some((imported) => GATES[imported] === need);

/** Returns the chains of imports up to a page in which no file asks for the permission. */
function findUnasked(file: string, need: Permission, way: string[] = []): string[] {
  if (way.includes(file) || asksFor(file, need)) return [];
  const next = (importers.get(file) ?? []).filter(({ file: by }) => !by.startsWith("routes/"));
  if (next.length === 0) return [[...way, file].join(" < ")];
  return next.flatMap(({ file: by }) => findUnasked(by, need, [...way, file]));
}

test("each file that checks a permission for other files names that permission", () => {
  for (const [file, need] of Object.entries(GATES)) assert.match(textOf(file), new RegExp(`"${need}"`), file);
});

test("every control that changes an account is behind the permission that its route needs", () => {
  const changes = listChanges();
  assert.ok(changes.length > 15, `${changes.length} changes were found`);
  const unasked = changes.flatMap(({ hook, file, need }) =>
    (importers.get(file) ?? [])
      .filter(({ file: by }) => new RegExp(`\\b${hook}\\b`).test(textOf(by)))
      .flatMap(({ file: by }) => findUnasked(by, need).map((way) => `${hook} needs "${need}": ${way}`)),
  );
  assert.deepEqual(unasked, []);
});
