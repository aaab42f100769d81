import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { buildErrorBody, type FaultCode, faults, refusal } from "../faults.ts";
import { buildDocument } from "../openapi/document.ts";
import { listRouteErrors } from "../openapi/error-responses.ts";
import { listOperations, type Response, resolveRef } from "../openapi/openapi-types.ts";
import type { Route } from "../route-declaration.ts";
import { validateFields } from "../validate-fields.ts";
import { publicApi } from "./api.ts";
import { ErrorEnvelope, PUBLIC_ERROR_CODES, PUBLIC_REFUSALS } from "./public-error-codes.ts";
import { publicRoutes } from "./routes.ts";
import * as samples from "./sample-requests-and-responses.ts";

const document = buildDocument(publicApi);
const routes = Object.values<Route>(publicRoutes);

describe("errors", () => {
  const listed = listOperations(document).flatMap(({ operation }) =>
    Object.entries(operation.responses).flatMap(([status, response]) => {
      const { description, content } = resolveRef<Response>(document, response);
      const codes = Object.keys(content?.["application/json"]?.examples ?? {});
      return codes.map((code) => ({ status: Number(status), code, description }));
    }),
  );

  test("each error code of the public API has its documented status and message", () => {
    for (const code of PUBLIC_ERROR_CODES) {
      const found = listed.filter((one) => one.code === code);
      assert.ok(found.length > 0, `${code} is under no status`);
      for (const { status, description } of found) {
        assert.equal(status, faults[code].status, code);
        assert.ok(description.includes(`\`${code}\`: ${faults[code].text}`), code);
      }
    }
  });

  test("the error schema lists exactly the error codes that the public routes return", () => {
    const declared = routes.flatMap((route) => listRouteErrors(route).flatMap(({ code }) => code ?? []));
    assert.deepEqual([...new Set(declared)].sort(), [...PUBLIC_ERROR_CODES].sort());
    for (const code of Object.keys(faults) as FaultCode[]) {
      const taken = ErrorEnvelope.safeParse(buildErrorBody(refusal(code))).success;
      assert.equal(taken, PUBLIC_ERROR_CODES.includes(code), code);
    }
  });

  test("every error has a unique name in the document", () => {
    assert.deepEqual(Object.keys(document.components.responses), Object.keys(PUBLIC_REFUSALS));
    for (const { operation } of listOperations(document)) {
      for (const [status, answer] of Object.entries(operation.responses)) {
        assert.equal("$ref" in answer, Number(status) >= 400, `${operation.operationId} ${status}`);
      }
    }
  });

  test("the example of an invalid field equals the gateway's real error", () => {
    const checked = validateFields(publicRoutes.createChatCompletion.body.fields, {
      ...samples.sampleChatRequest,
      temperature: 3,
    });
    assert.deepEqual([(checked as { wrong: unknown }).wrong], PUBLIC_REFUSALS.InvalidRequest?.faults);
  });
});

test("every event in the stream examples matches its schema", () => {
  const { createChatCompletion: chat, createCompletion: completion } = publicRoutes;
  for (const event of samples.sampleChatEvents) chat.answer.events.each.parse(event);
  for (const event of samples.sampleCompletionEvents) completion.answer.events.each.parse(event);
  assert.match(
    samples.formatEventStream(samples.sampleChatEvents),
    /^data: \{.*\}\n\ndata: .*\n\ndata: \[DONE\]\n\n$/s,
  );
});

test("every rate-limit header has a description", () => {
  const used = Object.keys(document.components.headers);
  assert.equal(used.filter((name) => name.startsWith("x-ratelimit-")).length, 6);
  assert.deepEqual(used.sort(), Object.keys(publicApi.headers ?? {}).sort());
});

test("the API's descriptions state how null and unknown fields are treated, because no schema can express it", () => {
  assert.match(document.info.description, /`null` means that the field is absent/);
  assert.match(document.info.description, /unlisted fields are ignored/);
});
