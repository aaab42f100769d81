/** `tollgate api METHOD PATH`: calls the console API with the session that this machine has stored. */
import { ACCOUNT_HEADER } from "@tollgate/api/guards.ts";
import { type BaseCommandContext, type Command, type CommandInput, JSON_FLAG } from "@tollgate/terminal/command.ts";
import { UsageError } from "@tollgate/terminal/errors.ts";
import { callConsole } from "./console-call.ts";
import { readStoredSession } from "./stored-session.ts";

const ROOT = "/console/api/";

export const apiCommand: Command = {
  help: "call the console API with the session of tollgate login",
  args: {
    METHOD: { help: "the HTTP method", oneOf: ["GET", "POST", "PUT", "PATCH", "DELETE"] },
    PATH: { help: `the path below ${ROOT}, with its query` },
  },
  flags: {
    data: { value: "JSON", help: "the request's body; - reads it from standard input" },
    account: { value: "ACCOUNT", help: "the account to act for (acc_…), if you have several" },
    ...JSON_FLAG,
  },
  more: [
    "The command prints the gateway's response: JSON, CSV or events. With --json, JSON is printed on one line.",
    "The API reference is under /docs of the gateway.",
  ],
  example: "GET usage?by=day",
  run,
};

async function run(
  { args: [method = "", path = ""], flags, json }: CommandInput,
  context: BaseCommandContext,
): Promise<number> {
  const { gateway, token } = await readStoredSession(context);
  const body = flags.data === "-" ? await context.terminal.readInput() : flags.data;
  if (body !== undefined && !isJson(body)) throw new UsageError(["--data must be JSON"]);
  const response = await callConsole({
    gateway,
    method,
    path: pathOf(path),
    token,
    body,
    ...(flags.account !== undefined && { headers: { [ACCOUNT_HEADER]: flags.account } }),
  });
  const print = (line: string): void => context.terminal.print(line);
  if (response.headers.get("content-type")?.startsWith("application/json")) {
    const answer = await response.json();
    print(JSON.stringify(answer, null, json ? undefined : 2));
  } else await printLines(response, print);
  return 0;
}

/**
 * `usage`, `/usage` and `/console/api/usage` mean the same path. The session's token is sent only to paths of the
 * console API.
 */
function pathOf(path: string): string {
  const below = path.startsWith(ROOT) ? path.slice(ROOT.length) : path.replace(/^\/+/, "");
  const url = new URL(ROOT + below, "http://gateway");
  if (!url.pathname.startsWith(ROOT)) throw new UsageError([`PATH must be below ${ROOT}`]);
  return url.pathname + url.search;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Prints lines as they arrive, because a response can be large or endless. */
async function printLines(response: Response, print: (line: string) => void): Promise<void> {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const bytes of response.body ?? []) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) print(line.replace(/\r$/, ""));
  }
  if (rest !== "") print(rest);
}
