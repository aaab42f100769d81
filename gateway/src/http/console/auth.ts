/**
 * From the console's sign-in routes to the identities' fetch-style handler and back. Fields are checked here and only
 * those known are passed on; what the handler refuses becomes a fault of ours, so that its own wording and codes never
 * reach a client.
 */
import type { ServerResponse } from "node:http";
import { z } from "zod";
import {
  AUTH_PATH,
  CLIENT_ADDRESS_HEADER,
  type Identities,
  PASSWORD_CHARS_MAX,
  PASSWORD_CHARS_MIN,
} from "../../accounts/identities.ts";
import { fault, invalidRequest } from "../../faults.ts";
import type { OpenCall } from "../door.ts";
import { parseFields } from "../fields.ts";

/** A declared length over this is refused at once; a body without one is bounded by the door's own reader. */
const BODY_BYTES_MAX = 64 * 1024;

const Email = z.email("must be an e-mail address").max(254, "must have at most 254 characters");
const Password = z
  .string("must be a string")
  .max(PASSWORD_CHARS_MAX, `must have at most ${PASSWORD_CHARS_MAX} characters`);
const SignIn = z.object({
  email: Email,
  password: Password,
  rememberMe: z.boolean("must be true or false").optional(),
});
const SignUp = SignIn.extend({
  password: Password.min(PASSWORD_CHARS_MIN, `must have at least ${PASSWORD_CHARS_MIN} characters`),
  name: z
    .string("must be a string")
    .regex(/^\P{Cc}+$/u, "must not be empty or hold control characters")
    .max(200, "must have at most 200 characters"),
});

export interface AuthRoute {
  method: "GET" | "POST";
  url: string;
  fields?: z.ZodObject;
}

/** All of the handler that is open. It has more, which nothing here needs. */
export const AUTH_ROUTES: AuthRoute[] = [
  { method: "POST", url: `${AUTH_PATH}/sign-up/email`, fields: SignUp },
  { method: "POST", url: `${AUTH_PATH}/sign-in/email`, fields: SignIn },
  { method: "POST", url: `${AUTH_PATH}/sign-out` },
  { method: "GET", url: `${AUTH_PATH}/get-session` },
];

export async function bridge(
  identities: Identities,
  route: AuthRoute,
  { call, response, address }: { call: OpenCall; response: ServerResponse; address: string },
): Promise<void> {
  const body = route.fields === undefined ? undefined : parseFields(route.fields, await readBody(call));
  // A new request rather than a copy: no other header of the caller's can mean anything to the handler.
  const headers = new Headers({ [CLIENT_ADDRESS_HEADER]: address });
  for (const name of ["cookie", "user-agent"] as const) {
    const value = call.request.headers[name];
    if (value !== undefined) headers.set(name, value);
  }
  if (body !== undefined) headers.set("content-type", "application/json");
  const answer = await identities.handle(
    new Request(new URL(route.url, "http://localhost"), {
      method: route.method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }),
  );
  if (!answer.ok) throw await faultOf(answer);
  const cookies = answer.headers.getSetCookie();
  if (cookies.length > 0) response.setHeader("set-cookie", cookies);
  call.reply.json(200, await answer.text());
}

async function readBody(call: OpenCall): Promise<unknown> {
  const declared = Number(call.request.headers["content-length"] ?? 0);
  if (declared > BODY_BYTES_MAX) {
    throw fault("request_too_large", { message: `The request body exceeds ${BODY_BYTES_MAX / 1024} KiB.` });
  }
  return await call.readJson();
}

async function faultOf(answer: Response): Promise<Error> {
  if (answer.status === 429) {
    const waitS = answer.headers.get("x-retry-after") ?? "60";
    const message = `Too many attempts. Try again in ${waitS} seconds.`;
    return fault("rate_limit_requests", { message, headers: { "retry-after": waitS } });
  }
  const text = await answer.text();
  if (answer.status === 401) return fault("not_authenticated", { message: "The e-mail address or password is wrong." });
  if (answer.status === 422 && text.includes("USER_ALREADY_EXISTS")) {
    return invalidRequest("email", "email must be one that is not in use yet");
  }
  // The fields were checked before, so whatever else it refuses is a mistake of ours.
  return new Error(`the identities' handler answered ${answer.status}: ${text.slice(0, 200)}`);
}
