/** Calls a gateway's console API, with or without this machine's session. */
import { CommandError } from "@tollgate/terminal/errors.ts";
import { explainSystemError } from "@tollgate/terminal/explain-failure.ts";
import { z } from "zod";
import { systemClock } from "../../base/clock.ts";

const ANSWER_AFTER_MS = 30_000;

const Envelope = z.object({ error: z.object({ message: z.string(), code: z.string().nullish() }) });

interface ConsoleCall {
  gateway: string;
  method: string;
  /** The path relative to the gateway's URL: `/console/api/me`. */
  path: string;
  token?: string | undefined;
  /** The body as JSON text. */
  body?: string | undefined;
  headers?: Record<string, string>;
}

/** Resolves when the response's headers have arrived. Throws an error for an error status. */
export async function callConsole(call: ConsoleCall): Promise<Response> {
  const { gateway, method, path, token, body, headers } = call;
  const giveUp = new AbortController();
  // The timeout covers only the headers, because event streams are endless.
  const stop = systemClock.after(ANSWER_AFTER_MS, () => giveUp.abort(new Error("the gateway did not answer in time")));
  try {
    const response = await fetch(new URL(path, gateway), {
      method,
      redirect: "error",
      signal: giveUp.signal,
      headers: {
        // The console API refuses changes without an Origin header that names the gateway.
        origin: gateway,
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body }),
    });
    if (response.ok) return response;
    throw await refusalOf(response, gateway);
  } catch (cause) {
    if (cause instanceof CommandError) throw cause;
    const { message, cause: inner } = cause as Error & { cause?: Error };
    const reason = explainSystemError(cause)?.message ?? inner?.message ?? message;
    throw new CommandError(`cannot reach the gateway at ${gateway}: ${reason}`, {
      next: "check the address (--gateway URL) and that the gateway runs",
      cause,
    });
  } finally {
    stop();
  }
}

/** The advice to the user for each error code. */
const NEXT: Record<string, string> = {
  not_authenticated: "run tollgate login; the session has ended",
  session_read_only: "run tollgate login --write",
  browser_required: "use the console in a browser",
};
const LOOK_IT_UP = "check the path and its parameters in the API reference, under /docs of the gateway";

async function refusalOf(response: Response, gateway: string): Promise<CommandError> {
  const envelope = Envelope.safeParse(await response.json().catch(() => undefined));
  if (!envelope.success) {
    return new CommandError(`${gateway} returned ${response.status}, but not in the format of a Tollgate gateway`, {
      next: "check the address (--gateway URL)",
    });
  }
  const { message, code } = envelope.data.error;
  const named = code == null ? String(response.status) : `${response.status} ${code}`;
  return new CommandError(`${message.replaceAll(/\s+/g, " ").replace(/\.$/, "")} (${named})`, {
    next: NEXT[code ?? ""] ?? LOOK_IT_UP,
  });
}
