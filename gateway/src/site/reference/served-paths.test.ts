/** Compares the served paths and error codes with those that the APIs declare. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { consoleApi } from "@tollgate/api/console/api.ts";
import { type FaultCode, faults } from "@tollgate/api/faults.ts";
import { nodeApi } from "@tollgate/api/nodes/api.ts";
import type { Api } from "@tollgate/api/openapi/api-declaration.ts";
import { listRouteErrors } from "@tollgate/api/openapi/error-responses.ts";
import { publicApi } from "@tollgate/api/public/api.ts";
import { type Route, splitMethodAndUrl } from "@tollgate/api/route-declaration.ts";
import { createServerWithoutRoutes } from "../../http/server.ts";
import { consoleRoutes } from "../../routes/console/routes.ts";
import { registerNodeRoutes } from "../../routes/nodes/routes.ts";
import { openAiRoutes } from "../../routes/openai/routes.ts";
import { receiptKeyRoutes } from "../../routes/receipt-keys.ts";
import type { RouteServices } from "../../routes/services.ts";
import { makeTestHttpOptions } from "../../routes/testing/http-options.ts";
import { statusRoutes } from "../status/routes.ts";
import { openStatusReader } from "../status/status-reader.ts";

const routesOf = ({ tables }: Api): Route[] => tables.flatMap(({ routes }) => Object.values(routes));
const codesOf = (api: Api): FaultCode[] =>
  routesOf(api).flatMap((route) => listRouteErrors(route).flatMap((one) => one.code ?? []));

describe("every declared path is served, and every served path is declared", () => {
  /** Stands for any dependency: routes are only registered here, so that dependencies are never called. */
  const anything: unknown = new Proxy(() => anything, {
    get: (_target, name) => (name === "then" ? undefined : anything),
  });
  const status = { isPublic: true, sampleEveryMs: 60_000 };
  const parts = new Proxy({ door: makeTestHttpOptions(), publicUrl: undefined, status } as unknown as RouteServices, {
    get: (target, name) => (Object.hasOwn(target, name) ? target[name as keyof RouteServices] : anything),
  });
  const served: string[] = [];
  const app = createServerWithoutRoutes(makeTestHttpOptions());
  // HEAD exists with every GET, and is not declared.
  app.addHook("onRoute", ({ method, url }) => void served.push(`${[method].flat()[0]} ${url}`));
  openAiRoutes(app, parts);
  receiptKeyRoutes(app, parts);
  statusRoutes(app, openStatusReader(parts));
  registerNodeRoutes(app, parts);
  consoleRoutes(app, parts);

  for (const [name, api, below] of [
    ["public", publicApi, /^\/(v1\/|\.well-known\/|status\.json$)/],
    ["node", nodeApi, /^\/node\//],
    ["console", consoleApi, /^\/console\/api\//],
  ] as [string, Api, RegExp][]) {
    test(`on the ${name} API`, () => {
      const declared = routesOf(api).map((route) => {
        const { method, url } = splitMethodAndUrl(route);
        return `${method} ${url}`;
      });
      const found = served.filter((one) => below.test(one.split(" ")[1] ?? ""));
      assert.deepEqual(declared.sort(), found.sort());
    });
  }
});

describe("every error code that occurs in the source files is declared by the API", () => {
  const src = fileURLToPath(new URL("../..", import.meta.url));
  const textOf = (...globs: string[]): string => {
    const files = globSync(globs, { cwd: src }).filter((file) => !/test(ing)?(\.ts$|\/)/.test(file));
    return files.map((file) => readFileSync(`${src}/${file}`, "utf8")).join("\n");
  };

  for (const [name, api, sources] of [
    ["console", consoleApi, "routes/console/**/*.ts"],
    ["node", nodeApi, "routes/nodes/*.ts"],
  ] as [string, Api, string][]) {
    test(`for the routes of the ${name} API`, () => {
      const named = new Set([...textOf(sources).matchAll(/\b(?:fault|refuse)\("(\w+)"/g)].map(([, code]) => code));
      assert.ok(named.size > 3, "the sources were found");
      assert.deepEqual([...named.difference(new Set<string | undefined>(codesOf(api)))], []);
    });
  }

  test("for the routes of the public API", () => {
    // The source files of the HTTP layer, except guards.ts: only the routes of the other APIs use its guards and their
    // error codes.
    const ofAllDoors = globSync("http/*.ts", { cwd: src }).filter((file) => !file.endsWith("/guards.ts"));
    const text = textOf("inference/**/*.ts", "limits/**/*.ts", "routes/openai/**/*.ts", ...ofAllDoors);
    const named = (Object.keys(faults) as FaultCode[]).filter((code) => text.includes(`"${code}"`));
    assert.ok(named.includes("upstream_stall"), "the sources were found");
    assert.deepEqual([...new Set(named).difference(new Set(codesOf(publicApi)))], []);
  });
});
