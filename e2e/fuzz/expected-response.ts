/** Describes the expected responses to a request. The response must match one of them. */

type AnswerKind =
  | "chat"
  | "chat-stream"
  | "completion"
  | "completion-stream"
  | "embedding"
  | "models"
  | "model"
  | "rates"
  /** Any page or document of the gateway. */
  | "any";

export interface ExpectedResponse {
  status: number;
  /** For a 200: the kind of response. */
  answer?: AnswerKind;
  model?: string;
  outputTokensMax?: number;
  /** Whether a stream reports its usage. */
  usage?: boolean;
  vectors?: number;
  /** For a 400: the error's `param` must be one of these fields. If this is null, the error's `param` must be null. */
  param?: string[] | null;
  /** The error's `code`. Undefined: the error must have none. */
  code?: string;
  /** The error's `type`. Undefined: the same text as `code`. */
  type?: string;
  /** For a 405: the expected Allow header. */
  allow?: string;
}

export interface ReceivedResponse {
  status: number;
  /** The headers by lower-case name. */
  headers: Record<string, string>;
  text: string;
}

export const UNAUTHORIZED: ExpectedResponse = { status: 401, code: "invalid_api_key" };
export const NOT_FOUND: ExpectedResponse = { status: 404, type: "not_found_error" };
/** The expected response to bytes that are not an HTTP request. */
export const NOT_HTTP: ExpectedResponse = { status: 400, param: null };
