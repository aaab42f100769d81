/**
 * Checks that the examples in the API documents match their schemas, and that the gateway accepts the example requests.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { consoleApi } from "../console/api.ts";
import { keyRoutes } from "../console/keys.ts";
import { nodeApi } from "../nodes/api.ts";
import { validateFields } from "../validate-fields.ts";

for (const api of [consoleApi, nodeApi]) {
  const routes = api.tables.flatMap((table) => Object.entries(table.routes));

  test(`${api.title}: every example of a response matches its schema`, () => {
    for (const [id, { answer }] of routes) {
      const { json, example } = answer;
      if (json === undefined || example === undefined) continue;
      assert.deepEqual(json.safeParse(example).error?.issues ?? [], [], id);
    }
  });

  test(`${api.title}: the gateway's checks accept every example of a request body`, () => {
    for (const [id, { body }] of routes) {
      if (body?.example !== undefined) assert.ok("fields" in validateFields(body.fields, body.example), id);
    }
  });

  test(`${api.title}: a stream's example contains every kind of event, and each event matches its schema`, () => {
    for (const [id, { answer }] of routes) {
      for (const [name, schema] of Object.entries(answer.events?.named ?? {})) {
        const [, data = ""] =
          new RegExp(`^event: ${name}\\ndata: (.*)$`, "m").exec(String(answer.events?.example ?? "")) ?? [];
        assert.deepEqual(schema.safeParse(JSON.parse(data)).error?.issues ?? [], [], `${id} ${name}`);
      }
    }
  });
}

test("the schemas detect an undeclared, missing or mistyped field of a response at any depth", () => {
  const { json, example } = keyRoutes.listKeys.answer;
  const list = example as { data: Record<string, object>[] };
  const [key] = list.data;
  const { start: _start, ...cut } = key as { start: unknown };
  for (const [spoiled, at] of [
    [{ ...list, more: 1 }, ""],
    [{ ...list, data: [{ ...key, more: 1 }] }, "data.0"],
    [{ ...list, data: [{ ...key, limits: { ...key?.limits, more: 1 } }] }, "data.0.limits"],
    [{ ...list, data: [cut] }, "data.0.start"],
    [{ ...list, data: [{ ...key, created_at: null }] }, "data.0.created_at"],
    [{ ...list, next_cursor: undefined }, "next_cursor"],
  ] as [object, string][]) {
    assert.deepEqual(
      json.safeParse(spoiled).error?.issues.map(({ path }) => path.join(".")),
      [at],
    );
  }
});
