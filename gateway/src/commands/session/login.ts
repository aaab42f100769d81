/** `tollgate login`: creates a session for scripts after a person has confirmed it in a browser. */
import { spawn } from "node:child_process";
import { hostname } from "node:os";
import { type BaseCommandContext, type Command, type CommandInput, JSON_FLAG } from "@tollgate/terminal/command.ts";
import { CommandError, UsageError } from "@tollgate/terminal/errors.ts";
import { z } from "zod";
import { sleep, systemClock } from "../../base/clock.ts";
import { callConsole } from "./console-call.ts";
import { findSessionFile, storeSession } from "./stored-session.ts";

const LOCAL_GATEWAY = "http://127.0.0.1:8080";
const NAME_CHARS_MAX = 100;

const Started = z.object({
  token: z.string(),
  code: z.string(),
  confirm_path: z.string(),
  expires_at: z.number(),
  poll_s: z.number().min(0),
});
const State = z.object({
  status: z.enum(["pending", "confirmed", "refused", "expired"]),
  expires_at: z.number().nullable(),
});
const Me = z.object({ identity: z.object({ email: z.string() }) });

export const loginCommand: Command = {
  help: "create a session for scripts, which you confirm in the browser",
  flags: {
    gateway: { value: "URL", help: `the gateway's address (default: ${LOCAL_GATEWAY})` },
    write: { help: "ask for a session that can also change things" },
    "no-browser": { help: "print the address to open, and open nothing" },
    ...JSON_FLAG,
  },
  more: [
    "The session lasts 30 days and is read-only, unless --write is given. It has your roles in your accounts. Operators cannot get a session.",
    "The console lists the session under Settings, where you can end it. tollgate logout ends it too.",
  ],
  example: "--gateway https://gateway.example",
  run,
};

async function run({ flags, switches, json }: CommandInput, context: BaseCommandContext): Promise<number> {
  const { terminal } = context;
  const gateway = gatewayOf(flags.gateway ?? LOCAL_GATEWAY);
  const access = switches.has("write") ? "write" : "read";
  const name = `tollgate on ${hostname()}`.slice(0, NAME_CHARS_MAX);
  const started = Started.parse(await post(gateway, "/console/api/auth/scripts", { name, access }));
  const page = new URL(started.confirm_path, gateway).href;
  terminal.remark(`Open ${page}`);
  terminal.remark(`and confirm the code ${terminal.remarkPaint.strong(started.code)}`);
  if (terminal.watched && !switches.has("no-browser")) openBrowser(page);
  terminal.progress.step("waiting until you confirm the code in the browser");
  const expires_at = await confirmed(gateway, started);
  terminal.progress.done();
  await storeSession(context, { gateway, token: started.token, access, expires_at });
  const asked = await callConsole({ gateway, method: "GET", path: "/console/api/me", token: started.token });
  const { email } = Me.parse(await asked.json()).identity;
  if (new URL(gateway).protocol === "http:" && !isLoopback(gateway))
    terminal.remark(`warning: ${gateway} is not https. Others on the network can read the session's token.`);
  const until = new Date(expires_at * 1000).toISOString().slice(0, 10);
  if (json) terminal.print(JSON.stringify({ gateway, email, access, expires_at }));
  else {
    const may = access === "read" ? "it can only read" : "it can read and change things";
    terminal.print(`logged in to ${gateway} as ${email}; ${may}, until ${until}`);
    terminal.print(`stored the session in ${findSessionFile(context)}; only you can read it`);
    terminal.print("next: tollgate api GET usage");
  }
  return 0;
}

/**
 * Waits for the confirmation, and resolves to the session's expiry. The gateway expires an unconfirmed login, which
 * ends the wait with an error.
 */
async function confirmed(gateway: string, { token, poll_s }: z.infer<typeof Started>): Promise<number> {
  for (;;) {
    const { status, expires_at } = State.parse(await post(gateway, "/console/api/auth/scripts/state", { token }));
    if (status === "confirmed" && expires_at !== null) return expires_at;
    if (status === "refused") throw new CommandError("the login was refused in the browser", { next: AGAIN });
    if (status !== "pending") throw new CommandError("nobody confirmed the code in time", { next: AGAIN });
    await sleep(systemClock, poll_s * 1000);
  }
}

const AGAIN = "run tollgate login again";

async function post(gateway: string, path: string, body: object): Promise<unknown> {
  const response = await callConsole({ gateway, method: "POST", path, body: JSON.stringify(body) });
  return await response.json();
}

function gatewayOf(text: string): string {
  const address = URL.parse(text);
  if (address === null || !["http:", "https:"].includes(address.protocol))
    throw new UsageError([`--gateway must be an address like ${LOCAL_GATEWAY}`]);
  return address.origin;
}

function isLoopback(url: string): boolean {
  const { hostname: host } = new URL(url);
  return host === "localhost" || host === "[::1]" || host.startsWith("127.");
}

/** Opens the login page. A failure is ignored, because the user also has the printed URL. */
function openBrowser(url: string): void {
  const [command, args] =
    process.platform === "darwin"
      ? ["open", [url]]
      : process.platform === "win32"
        ? ["explorer", [url]]
        : ["xdg-open", [url]];
  spawn(command as string, args as string[], { stdio: "ignore", detached: true })
    .on("error", () => {})
    .unref();
}
