/** The error of a refused request. api/src/faults.ts lists the codes and their messages. */
import {
  brokenRuleError,
  buildErrorBody,
  compressedBodyError,
  type FaultBody,
  type FaultCode,
  faults,
  invalidFieldError,
  type Refusal,
  type RetryAdvice,
  refusal,
  slowBodyError,
  unknownPathError,
} from "@tollgate/api/faults.ts";

export type { FaultCode } from "@tollgate/api/faults.ts";

/** The fields of a fault as a plain object, which can be sent between threads. */
export interface FaultParts extends Omit<Refusal, "code" | "extra"> {
  code?: FaultCode | undefined;
  extra?: Record<string, unknown>;
  headers?: Record<string, string>;
  cause?: unknown;
  about?: About | undefined;
}

/** Facts that are stored with a refused request, but never sent to the client. */
interface About {
  /** The requested model. */
  model?: string;
  /** Stored instead of the message, if the message repeats the user's input. */
  message?: string;
}

/** An error whose message is sent to the client. Internal details belong in `cause`, which is only logged. */
export class Fault extends Error implements Refusal {
  override name = "Fault";
  readonly status: number;
  readonly retry: RetryAdvice;
  readonly type: string;
  readonly code: FaultCode | undefined;
  readonly extra: Record<string, unknown>;
  readonly headers: Record<string, string>;
  readonly about: About;

  constructor(parts: FaultParts) {
    super(parts.message, { cause: parts.cause });
    this.status = parts.status;
    this.retry = parts.retry;
    this.type = parts.type;
    this.code = parts.code;
    this.extra = parts.extra ?? {};
    this.headers = parts.headers ?? {};
    this.about = parts.about ?? {};
  }

  body(): FaultBody {
    return buildErrorBody(this);
  }

  /** A copy of the fault with these headers added. */
  withHeaders(headers: Record<string, string>): Fault {
    const { message, cause } = this;
    return new Fault({ ...this, message, cause, headers: { ...this.headers, ...headers } });
  }

  /** A copy of the fault that names the requested model. */
  ofModel(model: string): Fault {
    const { message, cause } = this;
    return new Fault({ ...this, message, cause, about: { ...this.about, model } });
  }
}

export interface FaultOptions {
  retry?: RetryAdvice;
  message?: string;
  extra?: Record<string, unknown>;
  headers?: Record<string, string>;
  cause?: unknown;
  about?: About;
}

/** How much of a model's name is shown. Model IDs are shorter, but a request can contain any text. */
const MODEL_CHARS_SHOWN = 100;

/** Creates a fault with a code of the catalog. */
export function fault(code: FaultCode, { message, ...more }: FaultOptions = {}): Fault {
  return new Fault({ ...refusal(code, message), ...more });
}

/**
 * A 404. The same error for a model that does not exist, is only announced, has the wrong kind, or is not allowed for
 * the key.
 */
export function modelNotFound(id: string): Fault {
  const shown = JSON.stringify(id.slice(0, MODEL_CHARS_SHOWN));
  const message = `Model ${shown} does not exist, or cannot be used with this key and endpoint. GET /v1/models lists the available models.`;
  return fault("model_not_found", { message, about: { model: id, message: faults.model_not_found.text } });
}

/** A 400 that names the field and the rule that it violates. */
export function invalidRequest(param: string | null, message: string, cause?: unknown, about?: About): Fault {
  return new Fault({ ...invalidFieldError(param, message), cause, about });
}

/** A 400 such as `"from" must be …`. */
export const ruleViolation = (field: string, rule: string): Fault => new Fault(brokenRuleError(field, rule));

export function notFound(message: string): Fault {
  return new Fault(unknownPathError(message));
}

export function unsupportedEncoding(encoding: string, header?: string): Fault {
  const about = { message: "The request body has a content encoding that the gateway does not support." };
  return new Fault({ ...compressedBodyError(encoding, header), about });
}

/** For a body that arrives too slowly. Closes the connection, because the rest of the body may still arrive. */
export function makeSlowBodyFault(): Fault {
  return new Fault({ ...slowBodyError(), headers: { connection: "close" } });
}

export function methodNotAllowed(allowed: readonly string[]): Fault {
  const allow = allowed.join(", ");
  const message = `This path does not support this method. Allowed: ${allow}.`;
  return new Fault({ status: 405, retry: "never", type: "invalid_request_error", message, headers: { allow } });
}
