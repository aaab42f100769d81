/** A refusal on its way to the client. The catalogue of faults and their texts are the API's (`api/src/faults.ts`). */
import {
  brokenRule,
  compressedBody,
  envelopeOf,
  type FaultBody,
  type FaultCode,
  faults,
  noSuchPath,
  type Refusal,
  type Retry,
  refusal,
  slowBody,
  wrongField,
} from "@tollgate/api/faults.ts";

export type { FaultCode } from "@tollgate/api/faults.ts";

/** As it is made, and as it travels between threads. */
export interface FaultParts extends Omit<Refusal, "code" | "extra"> {
  code?: FaultCode | undefined;
  extra?: Record<string, unknown>;
  headers?: Record<string, string>;
  cause?: unknown;
  about?: About | undefined;
}

/** What is kept of a refused call beside its code. Never sent. */
interface About {
  /** The model that was asked for. */
  model?: string;
  /** In place of the message, where that repeats something that was sent. */
  message?: string;
}

/** What went wrong inside goes to `cause` and the log only. */
export class Fault extends Error implements Refusal {
  override name = "Fault";
  readonly status: number;
  readonly retry: Retry;
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
    return envelopeOf(this);
  }

  /** The same fault, told with these headers too. */
  withHeaders(headers: Record<string, string>): Fault {
    const { message, cause } = this;
    return new Fault({ ...this, message, cause, headers: { ...this.headers, ...headers } });
  }

  /** The same fault of a request for this model. */
  ofModel(model: string): Fault {
    const { message, cause } = this;
    return new Fault({ ...this, message, cause, about: { ...this.about, model } });
  }
}

export interface FaultOptions {
  retry?: Retry;
  message?: string;
  extra?: Record<string, unknown>;
  headers?: Record<string, string>;
  cause?: unknown;
  about?: About;
}

/** No model ID is longer. A request may name anything. */
const MODEL_CHARS_SHOWN = 100;

/** A fault of the catalogue. */
export function fault(code: FaultCode, { message, ...more }: FaultOptions = {}): Fault {
  return new Fault({ ...refusal(code, message), ...more });
}

/** 404: one answer for a model that does not exist, is coming, is of the wrong kind, or is not allowed for the key. */
export function modelNotFound(id: string): Fault {
  const shown = JSON.stringify(id.slice(0, MODEL_CHARS_SHOWN));
  const message = `Model ${shown} does not exist, or cannot be used with this key and endpoint. GET /v1/models lists the available models.`;
  return fault("model_not_found", { message, about: { model: id, message: faults.model_not_found.text } });
}

/** 400: names the field and the rule it broke. */
export function invalidRequest(param: string | null, message: string, cause?: unknown, about?: About): Fault {
  return new Fault({ ...wrongField(param, message), cause, about });
}

/** 400: `"from" must be …`. */
export const breaksRule = (field: string, rule: string): Fault => new Fault(brokenRule(field, rule));

export function notFound(message: string): Fault {
  return new Fault(noSuchPath(message));
}

export function unsupportedEncoding(encoding: string, header?: string): Fault {
  const about = { message: "The request body is encoded in a way that the gateway does not read." };
  return new Fault({ ...compressedBody(encoding, header), about });
}

/** A body that comes too slowly. Its connection ends, because the rest of it may still come. */
export function tooSlow(): Fault {
  return new Fault({ ...slowBody(), headers: { connection: "close" } });
}

export function wrongMethod(allowed: readonly string[]): Fault {
  const allow = allowed.join(", ");
  const message = `This path does not support this method. Allowed: ${allow}.`;
  return new Fault({ status: 405, retry: "never", type: "invalid_request_error", message, headers: { allow } });
}
