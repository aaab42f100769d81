/** The expected answers of a request. An answer must match one of them. */

type AnswerKind =
  | "chat"
  | "chat-stream"
  | "completion"
  | "completion-stream"
  | "embedding"
  | "models"
  | "model"
  | "rates"
  /** Whatever a page or document of the platform holds. */
  | "any";

export interface Expected {
  status: number;
  /** Of a 200. */
  answer?: AnswerKind;
  model?: string;
  outputTokensMax?: number;
  /** Whether a stream tells its usage. */
  usage?: boolean;
  vectors?: number;
  /** Of a 400: the fields it may name; null where there is no field to name. */
  param?: string[] | null;
  /** Of a refusal that has a code. */
  code?: string;
  type?: string;
  /** Of a 405. */
  allow?: string;
}

export interface Answer {
  status: number;
  /** By lower-case name. */
  headers: Record<string, string>;
  text: string;
}

export const UNAUTHORIZED: Expected = { status: 401, code: "invalid_api_key" };
export const NOT_FOUND: Expected = { status: 404, type: "not_found_error" };
/** Bytes that are no request. */
export const NOT_HTTP: Expected = { status: 400, param: null };
