/**
 * For tests: calls operations by ID, compares every answer with its declaration, and records it, to find declared
 * answers that never occurred. The guards' errors are tested in authorisation.test.ts.
 */
import assert from "node:assert/strict";
import type { Refusal } from "@tollgate/api/faults.ts";
import { GUARDS } from "@tollgate/api/guards.ts";
import type { Api } from "@tollgate/api/openapi/api-declaration.ts";
import { listRouteErrors, makeErrorEnvelopeSchema } from "@tollgate/api/openapi/error-responses.ts";
import type { FastifyInstance } from "fastify";
import type { Browser, BrowserResponse } from "../../testing/browser.ts";
import { type EventReader, openEvents } from "./event-stream-reader.ts";
import { listOperations, type Operation, operationRequestLine } from "./operations.ts";

export interface RequestInput {
  /** The value of the ID in the path. */
  id?: unknown;
  query?: string;
  body?: unknown;
  headers?: Record<string, string>;
}

export interface Coverage {
  operations: Operation[];
  send(browser: Browser, id: string, sent?: RequestInput): Promise<BrowserResponse>;
  /** Calls `send` and asserts the status. */
  ask(browser: Browser, status: number, id: string, sent?: RequestInput): Promise<BrowserResponse>;
  /** Opens a stream of events. */
  watch(app: FastifyInstance, browser: Browser, id: string): Promise<EventReader>;
  /** The declared answers, errors and events that have not occurred so far. */
  unmet(): string[];
}

/**
 * Errors that a test cannot cause by a request: internal errors, an unreachable database, full memory. Slow bodies are
 * tested in forms.test.ts.
 */
const NOT_ASKED_FOR = / (500 internal_error|503 no_capacity|408 invalid_request_error)$/;

export function openCoverage(api: Api): Coverage {
  const operations = listOperations(api);
  const faults = new Map(operations.map((operation) => [operation, listRouteErrors(operation)]));
  const envelope = makeErrorEnvelopeSchema([...faults.values()].flat());
  const met = new Set<string>();

  const find = (id: string): Operation => {
    const found = operations.find((operation) => operation.id === id);
    assert.ok(found !== undefined, `no operation ${id} is declared`);
    return found;
  };
  const take = (operation: Operation, answer: BrowserResponse): BrowserResponse => {
    assert.match(String(answer.headers["x-request-id"]), /^req_[0-9a-z]{26}$/);
    if (answer.status < 400) checkSuccess(operation, answer);
    else {
      envelope.parse(answer.body);
      checkRefusal(operation.id, faults.get(operation) ?? [], answer);
    }
    met.add(nameOf(operation, { status: answer.status, ...answer.body.error }));
    return answer;
  };
  const send: Coverage["send"] = async (browser, name, { id, query, body, headers } = {}) => {
    const operation = find(name);
    const { method, url } = operationRequestLine(operation, id === undefined ? undefined : String(id), query);
    return take(operation, await browser.send(method, url, { body, ...(headers !== undefined && { headers }) }));
  };
  return {
    operations,
    send,
    async ask(browser, status, id, sent) {
      const answer = await send(browser, id, sent);
      assert.equal(answer.status, status, `${id}: ${answer.text}`);
      return answer;
    },
    async watch(app, browser, id) {
      const operation = find(id);
      const stream = await openEvents(app, browser, operationRequestLine(operation).url);
      take(operation, stream.answer);
      return {
        ...stream,
        async event(name) {
          const schema = operation.answer.events?.named?.[name];
          assert.ok(schema !== undefined, `${id} declares no event ${name}`);
          const data = await stream.event(name);
          schema.parse(data);
          met.add(`${id} event ${name}`);
          return data;
        },
      };
    },
    unmet: () => operations.flatMap(declaredBy).filter((one) => !met.has(one) && !NOT_ASKED_FOR.test(one)),
  };
}

/** The name of an answer, such as `listKeys 200` or `listKeys 400 invalid_cursor`. */
const nameOf = ({ id }: Operation, { status, type = "" }: { status: number; type?: string }): string =>
  `${id} ${status} ${type}`.trimEnd();

function declaredBy(operation: Operation): string[] {
  const { id, answer, guard, faults = [] } = operation;
  const ofGuard = new Set<string>(
    GUARDS[guard].faults
      .flatMap(({ code }) => code ?? [])
      .concat("cross_site_blocked", "role_required", "session_read_only", "browser_required"),
  );
  // Guards' errors are excluded, unless the route declares the same code for a reason of its own.
  const refusals = listRouteErrors(operation).filter(
    ({ code }) => !ofGuard.has(code ?? "") || faults.some((own) => own.code === code),
  );
  return [
    nameOf(operation, { status: answer.status ?? 200 }),
    ...Object.keys(answer.events?.named ?? {}).map((name) => `${id} event ${name}`),
    ...refusals.map((refusal) => nameOf(operation, refusal)),
  ];
}

function checkSuccess({ id, answer: declared }: Operation, { status, headers, text, body }: BrowserResponse): void {
  assert.equal(status, declared.status ?? 200, `${id}: ${text}`);
  const { json, csv, pdf, zip, events } = declared;
  const file = csv
    ? "text/csv"
    : pdf
      ? "application/pdf"
      : zip
        ? "application/zip"
        : declared.file && "application/json";
  const type = json ? "application/json" : (file ?? (events ? "text/event-stream" : undefined));
  assert.equal(headers["content-type"]?.toString().split(";")[0], type, id);
  // Checks the response text, because the handler's result was checked before it was serialized.
  json?.parse(body);
  if (file !== undefined) assert.match(String(headers["content-disposition"]), /^attachment; filename="/);
  if (status !== 302) return;
  assert.equal(text, "");
  assert.ok(headers.location);
}

function checkRefusal(id: string, faults: Refusal[], { status, headers, text, body }: BrowserResponse): void {
  const { code } = body.error ?? {};
  const declared = faults.find((one) => one.status === status && one.code === code);
  assert.ok(declared !== undefined, `${id} does not declare ${status} ${code}: ${text}`);
  const what = `${id} ${status} ${code}`;
  if (declared.retry === "never") {
    assert.equal(headers["x-should-retry"], "false", what);
    assert.equal(headers["retry-after"], undefined, what);
  }
  if (declared.retry === "later") {
    // "false" stands for a wait so long that clients should not retry automatically.
    assert.match(String(headers["x-should-retry"]), /^(true|false)$/, what);
    assert.match(String(headers["retry-after"]), /^[1-9]\d*$/, what);
  }
}
