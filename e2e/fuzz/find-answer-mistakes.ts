/** Checks a response: its status, its shape, and the headers that every response must have. */
import { findSchemaMistakes } from "./api-schema-check.ts";
import type { ExpectedResponse, ReceivedResponse } from "./expected-response.ts";
import { findStreamMistakes } from "./find-stream-mistakes.ts";
import { parseJson } from "./raw-json.ts";
import { findUsageMistakes, type Usage } from "./token-usage.ts";

const REQUEST_ID = /^req_[0-9a-hjkmnp-tv-z]{26}$/;
const VECTOR_WIDTH = 1024;

/** Returns the mistakes in the response; empty if it matches one of the expected responses. */
export function findMistakes(answer: ReceivedResponse, expected: ExpectedResponse[], method = "POST"): string[] {
  const always = common(answer, method);
  const fitting = expected.filter(({ status }) => status === answer.status);
  if (fitting.length === 0) {
    const due = expected.map(({ status, code }) => (code === undefined ? status : `${status} ${code}`)).join(" or ");
    return [...always, `answered ${answer.status} where ${due || "nothing"} is due`];
  }
  const found = fitting.map((one) => particular(answer, one, method));
  return [...always, ...(found.some((list) => list.length === 0) ? [] : (found[0] as string[]))];
}

function common({ status, headers, text }: ReceivedResponse, method: string): string[] {
  const found: string[] = [];
  if (status >= 500) found.push(`answered ${status}`);
  if (!REQUEST_ID.test(headers["x-request-id"] ?? "")) found.push(`x-request-id is ${headers["x-request-id"]}`);
  if (status < 400) return found;
  if (status !== 429 && headers["x-should-retry"] !== "false") found.push("x-should-retry is not false");
  if (!headers["content-type"]?.startsWith("application/json"))
    found.push(`content-type is ${headers["content-type"]}`);
  if (method === "HEAD") return found;
  const body = parseJson(text);
  // These error codes belong to the console and the node API, which the public API's document does not describe.
  const isPublic = !/"code":"(not_authenticated|invalid_host_token)"/.test(text);
  return [
    ...found,
    ...(body === undefined ? ["the body is not JSON"] : isPublic ? findSchemaMistakes("Error", body) : []),
  ];
}

function particular(answer: ReceivedResponse, expected: ExpectedResponse, method: string): string[] {
  if (answer.status === 200) return good(answer, expected);
  if (answer.status === 304 || answer.status === 204)
    return answer.text === "" ? [] : [`a ${answer.status} has a body`];
  const found: string[] = [];
  if (expected.allow !== undefined && answer.headers.allow !== expected.allow)
    found.push(`allow is ${answer.headers.allow}`);
  if (method === "HEAD") return found;
  const { error } = (parseJson(answer.text) ?? {}) as { error?: { code?: string; type?: string; param?: string } };
  const { code, type = code, param } = expected;
  if (error?.code !== code) found.push(`code is ${error?.code}, not ${code}`);
  if (type !== undefined && error?.type !== type) found.push(`type is ${error?.type}, not ${type}`);
  if (param === null && error?.param !== undefined) found.push(`param is ${error.param} where no field is wrong`);
  if (Array.isArray(param) && !param.includes(error?.param ?? ""))
    found.push(`param is ${error?.param}, not ${shown(param)}`);
  return found;
}

const shown = (params: string[]): string => `one of ${params.slice(0, 12).join(", ")}`;

function good(answer: ReceivedResponse, expected: ExpectedResponse): string[] {
  const kind = expected.answer;
  if (kind === "any") return answer.text === "" ? ["the body is empty"] : [];
  if (kind === "chat-stream" || kind === "completion-stream") return findStreamMistakes(answer, expected);
  const body = parseJson(answer.text);
  if (body === undefined) return ["the body is not JSON"];
  if (kind === "models" || kind === "model" || kind === "rates")
    return findSchemaMistakes({ models: "ModelList", model: "Model", rates: "RateSheet" }[kind], body);
  const schema = { chat: "ChatCompletion", completion: "TextCompletion", embedding: "EmbeddingList" }[kind ?? "chat"];
  const found = findSchemaMistakes(schema, body);
  if (found.length > 0) return found;
  const made = body as { id?: string; model: string; usage: Usage; data?: { index: number; embedding: number[] }[] };
  if (made.model !== expected.model) found.push(`the model is ${made.model}, not ${expected.model}`);
  if (made.id !== undefined && suffix(made.id) !== suffix(answer.headers["x-request-id"]))
    found.push("the id is another request's");
  return [...found, ...findUsageMistakes(made.usage, expected), ...vectorMistakes(made.data, expected)];
}

const suffix = (id: string | undefined): string | undefined => id?.split(/[-_]/)[1];

function vectorMistakes(
  data: { index: number; embedding: number[] }[] | undefined,
  { vectors }: ExpectedResponse,
): string[] {
  if (data === undefined || vectors === undefined) return [];
  const isRight =
    data.length === vectors &&
    data.every(({ index, embedding }, i) => index === i && embedding.length === VECTOR_WIDTH);
  return isRight ? [] : [`there are not ${vectors} vectors of ${VECTOR_WIDTH} in order`];
}
