import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { buildDocument } from "@tollgate/api/openapi/document.ts";
import { type Endpoint, listOperations, type Parameter, resolveRef } from "@tollgate/api/openapi/openapi-types.ts";
import { publicApi } from "@tollgate/api/public/api.ts";
import { type ApiDocument, DOCUMENTS } from "../../../gateway/src/site/reference/api-documents.ts";
import { html, inlineMarkdown, renderMarkdown } from "../../../gateway/src/site/reference/html-template.ts";
import { curlCommand } from "./curl-command.ts";
import { listFields } from "./fields-list.ts";
import { renderReferencePage } from "./reference-page.ts";

const BASE_URL = "https://api.example.test";

for (const api of DOCUMENTS) {
  describe(`the page of the ${api.name}`, () => {
    const document = buildDocument(api.api);
    const page = renderReferencePage(api, { document, baseUrl: BASE_URL, hasStatus: true });

    test("has an anchor, a path and a curl command for every operation", () => {
      const text = [...page.matchAll(/<code>([\s\S]*?)<\/code><\/pre>/g)]
        .map(([, code = ""]) => textOf(code))
        .join("\n");
      for (const { path, operation } of listOperations(document)) {
        assert.ok(page.includes(`id="${operation.operationId}"`), path);
        assert.ok(page.includes(`href="#${operation.operationId}"`), path);
        assert.ok(page.includes(`<code>${path}</code>`), path);
        const address = path.replace(/\{(\w+)\}/g, (_, name: string) => `$${name.toUpperCase()}`);
        assert.ok(text.includes(`curl "$TOLLGATE_BASE_URL${address}"`), path);
      }
      assert.match(text, new RegExp(`export TOLLGATE_BASE_URL=${RegExp.escape(BASE_URL)}(\n|$)`, "m"));
    });

    test("has every parameter with its description", () => {
      for (const { operation } of listOperations(document)) {
        for (const parameter of operation.parameters ?? []) {
          const { name, description } = resolveRef<Parameter>(document, parameter);
          assert.ok(page.includes(`<code>${name}</code>`), name);
          assert.ok(page.includes(inlineMarkdown(description).text), name);
        }
      }
    });

    test("links to its API document and to the other APIs, with internal ones listed last", () => {
      assert.ok(page.includes(`<a href="${api.url}">`));
      const [tabs = ""] = /<nav class="tabs"[\s\S]*?<\/nav>/.exec(page) ?? [];
      assert.deepEqual(tabs.match(/href="[^"]*"/g), ['href="/docs/guide"', 'href="/docs"']);
      const [, internal = ""] = /<p>Internal APIs<\/p>\n<ul>([\s\S]*?)<\/ul>\n<\/div>\n<\/nav>/.exec(page) ?? [];
      for (const { pageUrl, name } of DOCUMENTS.slice(1)) {
        const here = pageUrl === api.pageUrl ? ' aria-current="true"' : "";
        assert.ok(internal.includes(`<a href="${pageUrl}"${here}>${name}</a>`), name);
      }
      assert.equal(page.includes("The platform's own programs use this API."), api.pageUrl !== "/docs");
    });

    test("has only links with existing targets, and unique IDs", () => {
      const ids = [...page.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id);
      assert.equal(new Set(ids).size, ids.length);
      for (const [, id] of page.matchAll(/(?:href="#|aria-labelledby=")([^"]+)"/g)) assert.ok(ids.includes(id), id);
    });

    test("lists every error code in the table of errors", () => {
      const table = page.slice(page.indexOf("<table>"), page.indexOf("</table>")).replaceAll("<wbr>", "");
      const envelope = document.components.schemas.Error as unknown as Envelope;
      const codes = envelope.properties.error.properties.code.enum;
      assert.ok(codes.length > 5);
      for (const code of codes) assert.ok(table.includes(`<code>${code}</code>`), code);
    });

    test("contains no inline scripts or styles and loads nothing from other hosts", () => {
      assert.deepEqual(page.match(/<script[^>]*>/g), ['<script src="/docs/reference.js">']);
      assert.doesNotMatch(page, /<style|\sstyle=|\son[a-z]+=/);
      assert.doesNotMatch(page, /(?:href|src)="(?:https?:|\/\/)/);
    });

    test("closes HTML elements in the order they were opened", () => {
      const open: string[] = [];
      const empty = new Set(["meta", "link", "wbr", "input"]);
      for (const [, slash, name] of page.matchAll(/<(\/?)([a-z][a-z0-9]*)\b[^>]*>/g)) {
        if (name === undefined || empty.has(name)) continue;
        if (slash === "/") assert.equal(open.pop(), name);
        else open.push(name);
      }
      assert.deepEqual(open, []);
    });
  });
}

/** Returns the text of highlighted code. */
const textOf = (code: string): string =>
  code
    .replaceAll(/<[^>]*>/g, "")
    .replaceAll("&quot;", '"')
    .replaceAll("&amp;", "&");

interface Envelope {
  properties: { error: { properties: { code: { enum: string[] } } } };
}

describe("curl commands", () => {
  const lineOf = (name: string, id: string): string => {
    const api = DOCUMENTS.find((one) => one.name === name);
    const endpoint = listOperations(buildDocument((api as ApiDocument).api)).find(
      ({ operation }) => operation.operationId === id,
    );
    return curlCommand(endpoint as Endpoint, (api as ApiDocument).calling).replaceAll(" \\\n  ", " ");
  };

  test("send the credential only where the operation needs one", () => {
    assert.equal(
      lineOf("Public API", "listModels"),
      'curl "$TOLLGATE_BASE_URL/v1/models" -H "Authorization: Bearer $TOLLGATE_API_KEY"',
    );
    assert.equal(lineOf("Public API", "listRates"), 'curl "$TOLLGATE_BASE_URL/v1/catalog/rates"');
    assert.equal(
      lineOf("Node API", "pauseNode"),
      'curl "$TOLLGATE_BASE_URL/node/v1/nodes/$ID/pause" -X POST -H "Authorization: Bearer $TOLLGATE_HOST_TOKEN"',
    );
  });

  test("keep the console's session cookie, and send an Origin header", () => {
    const cookies = "-b tollgate-cookies -c tollgate-cookies";
    const origin = '-H "Origin: $TOLLGATE_BASE_URL"';
    const json = '-H "content-type: application/json"';
    assert.equal(lineOf("Console API", "getMe"), `curl "$TOLLGATE_BASE_URL/console/api/me" ${cookies}`);
    assert.equal(
      lineOf("Console API", "revokeKey"),
      `curl "$TOLLGATE_BASE_URL/console/api/keys/$ID" -X DELETE ${cookies} ${origin}`,
    );
    assert.equal(
      lineOf("Console API", "createKey"),
      `curl "$TOLLGATE_BASE_URL/console/api/keys" ${cookies} ${origin} ${json} -d '{\n    "name": "production",\n    "budget_day_micro": "2000000",\n    "models": [\n      "small-8b"\n    ]\n  }'`,
    );
  });
});

test("text inserted into an HTML template cannot become markup", () => {
  assert.equal(
    html`<p title="${'"><b>'}">${["<i>", html`<b>&amp;</b>`, 1]}</p>`.text,
    '<p title="&#34;&#62;&#60;b&#62;">&#60;i&#62;<b>&amp;</b>1</p>',
  );
  assert.equal(
    renderMarkdown("a `<b>` c\n\n- one\n- two").text,
    "<p>a <code>&#60;b&#62;</code> c</p>\n<ul><li>one</li><li>two</li></ul>\n",
  );
});

test("a schema is listed field by field", () => {
  const document = buildDocument(publicApi);
  const fields = new Map(
    listFields(document, { $ref: "#/components/schemas/ChatRequest" }).map((one) => [one.path, one]),
  );
  const type = (path: string) => fields.get(path)?.type;
  assert.equal(type("temperature"), "number, 0 to 2");
  assert.equal(type("max_tokens"), "integer ≥ 1");
  assert.equal(type("seed"), "integer");
  assert.equal(type("stop"), "non-empty string or list of 0 to 4: non-empty string");
  assert.equal(type("messages"), "list of 1 or more: object");
  assert.equal(type("messages[].content[].type"), '"text"');
  assert.equal(type("stream_options.include_usage"), "boolean or null");
  assert.equal(type("response_format"), "object");
  assert.equal(type("response_format.type"), '"text" | "json_object" | "json_schema"');
  assert.equal(fields.get("response_format.type")?.required, true);
  assert.equal(type("response_format.json_schema.name"), "string");
  assert.equal(fields.get("response_format.json_schema")?.required, false);
  assert.equal(fields.get("model")?.required, true);
  assert.equal(fields.get("stream")?.required, false);
});
