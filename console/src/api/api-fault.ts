/** An API error as pages get it: an Error whose message can be shown to users. */
import type { FaultBody } from "@tollgate/api/faults.ts";
import { ACCOUNT_HEADER } from "./account-header.ts";

export class ApiFault extends Error {
  override name = "ApiFault";
  readonly status: number;
  readonly code: string | undefined;
  /** The invalid field, if the API named one. */
  readonly param: string | undefined;

  constructor(parts: { status: number; message: string; code?: string | undefined; param?: string | undefined }) {
    super(parts.message);
    this.status = parts.status;
    this.code = parts.code;
    this.param = parts.param;
  }
}

export function parseFault(status: number, body: unknown): ApiFault {
  const error = (body as Partial<FaultBody> | undefined)?.error;
  if (error?.message === undefined) {
    return new ApiFault({ status, message: `The gateway returned status ${status} without an error message.` });
  }
  return new ApiFault({ status, message: error.message, code: error.code, param: error.param });
}

export const isSignedOut = (error: unknown): boolean =>
  error instanceof ApiFault && error.status === 401 && error.code === "not_authenticated";

/**
 * Whether the person lacks a permission, perhaps because an account was suspended. Includes a person who was removed
 * from an account: that error is not a 403, but names the account header as its `param`.
 */
export const isForbidden = (error: unknown): boolean =>
  error instanceof ApiFault && (error.status === 403 || error.param === ACCOUNT_HEADER);

/** A message for any error: the API's own message, or that the gateway did not respond. */
export function errorMessage(error: unknown): string {
  if (error instanceof ApiFault) return error.message;
  if (error instanceof TypeError) return "The gateway did not respond. Check your connection and try again.";
  return error instanceof Error ? error.message : String(error);
}
