import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type Document, follow, operationsOf, type Parameter, type Schema } from "@tollgate/api/openapi/openapi.ts";
import { type ConsoleOptions, consoleRoutes } from "../console/routes.ts";
import { parseFields } from "../fields.ts";
import { PageFields } from "../lists/pages.ts";
import { type NodeApiOptions, nodeRoutes } from "../nodes/routes.ts";
import { consoleApi, consoleApiTable } from "./console/api.ts";
import { type Api, routeOf } from "./endpoints.ts";
import { nodeApi, nodeApiTable } from "./nodes/api.ts";
import { bareApp, door } from "./testing/app.ts";
import { codesOf } from "./testing/codes.ts";

const TABLES: [string, Api, Document, string[]][] = [
  ["console", consoleApiTable, consoleApi(), ["http/console/**/*.ts"]],
  ["node", nodeApiTable, nodeApi(), ["http/nodes/*.ts"]],
];

for (const [name, { endpoints, requests }, document, sources] of TABLES) {
  describe(`the table of the ${name} API`, () => {
    test("what is documented is what is served, path by path", () => {
      assert.deepEqual(endpoints.map(routeOf).sort(), served(name).sort());
    });

    test("every request that is read has an example that is taken", () => {
      for (const { id, body } of endpoints) {
        if (body !== undefined) assert.doesNotThrow(() => parseFields(body.fields, body.example), id);
      }
    });

    test("a field that may be left out is not one that generated clients must send", () => {
      for (const request of Object.keys(requests)) {
        const { properties = {} } = document.components.schemas[request] as Schema;
        for (const property of Object.values(properties)) assert.ok(!("default" in (property as object)), request);
      }
    });

    test("a code that the routes name is in the document", () => {
      const src = fileURLToPath(new URL("../..", import.meta.url));
      const files = globSync(sources, { cwd: src }).filter((file) => !/test(ing)?\.ts$/.test(file));
      const text = files.map((file) => readFileSync(`${src}/${file}`, "utf8")).join("\n");
      const named = new Set([...text.matchAll(/\bfault\("(\w+)"/g)].map(([, code]) => code));
      assert.ok(named.size > 3, "the sources were found");
      const listed = new Set(codesOf(document).map(({ code }) => code));
      assert.deepEqual(
        [...named].filter((code) => !listed.has(code as string)),
        [],
      );
    });

    test("a limit has the bounds that are checked", () => {
      const limits = operationsOf(document).flatMap(({ operation }) =>
        (operation.parameters ?? [])
          .map((one) => follow<Parameter>(document, one))
          .filter((one) => one.name === "limit"),
      );
      assert.ok(limits.length > 0);
      for (const { schema } of limits) {
        const { minimum = 0, maximum = 0, default: usual } = schema as Schema;
        const isTaken = (limit: number) => PageFields.limit.safeParse(String(limit)).success;
        assert.deepEqual([minimum - 1, minimum, maximum, maximum + 1].map(isTaken), [false, true, true, false]);
        assert.equal(PageFields.limit.parse(undefined), usual);
      }
    });
  });
}

/** Routes are only registered here, and no request reaches what stands behind them. */
function served(name: string): string[] {
  const app = bareApp();
  const found: string[] = [];
  app.addHook("onRoute", ({ method, url }) => {
    // Refusals of other methods and of unknown paths are registered for many methods at once.
    if (typeof method === "string" && /^\/(console\/api|node)\//.test(url)) found.push(`${method} ${url}`);
  });
  const nothing = {
    identities: {},
    builder: {},
    models: {},
    payments: {},
    host: {},
    earnings: {},
    operator: {},
    live: {},
  };
  if (name === "console") consoleRoutes(app, { door, ...nothing } as unknown as ConsoleOptions);
  else nodeRoutes(app, { door } as NodeApiOptions);
  return found;
}
