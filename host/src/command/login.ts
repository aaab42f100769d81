/** `tollgate-host login`: the gateway's address and a host token, tried against the gateway, then kept. */

import { isHostToken, isHttpUrl, isLoopback, readFlags, UsageError } from "./arguments.ts";
import { answer, type Command, type CommandContext } from "./command.ts";
import { CommandError } from "./errors.ts";
import { gatewayAddress } from "./gateway/call.ts";
import { gatewayClient } from "./gateway/client.ts";
import type { Login, LoginFile } from "./login-file.ts";
import { counted } from "./terminal/format.ts";

const USAGE = `tollgate-host login: remember the gateway and a host token

  --gateway URL   the gateway's address, e.g. https://gateway.example
  --token -       read the host token from standard input
  --json          answer as JSON

The token is asked for where nobody else sees it if neither --token nor the environment
variable TOLLGATE_HOST_TOKEN gives it. It is tried against the gateway, then kept in a file
that only you can read. Host tokens are made in the platform's console.`;

const OPTIONS = { gateway: { type: "string" }, token: { type: "string" } } as const;
const LOCAL_GATEWAY = "http://127.0.0.1:8080";

export const login: Command = { summary: "remember the gateway and a host token", usage: USAGE, run };

async function run(args: string[], context: CommandContext): Promise<number> {
  const flags = readFlags(args, OPTIONS);
  const { logins, terminal } = context;
  const before = await earlierLogin(logins);
  const gateway = await readGateway(flags.gateway, before, context);
  const token = await readToken(flags.token, context);

  const client = gatewayClient({ gateway, token });
  const nodes = await client.nodes();
  // The node of an earlier login is still this machine's if the account still has it.
  const stillOurs = before !== undefined && nodes.some(({ id }) => id === before.node?.id) ? before : undefined;
  const { node, serving } = stillOurs ?? {};
  await logins.write({
    gateway: client.address,
    token,
    ...(node === undefined ? {} : { node }),
    ...(serving === undefined ? {} : { serving }),
  });
  if (isUnencrypted(client.address))
    terminal.remark(`tollgate-host: ${client.address} is not https: whoever is on the way can read the token`);

  const next = node === undefined ? "register" : "up";
  answer(context, flags.json, { gateway: client.address, nodes: nodes.length, node: node?.id ?? null }, () => [
    `logged in to ${client.address}; the account has ${counted(nodes.length, "node")}`,
    `kept in ${logins.path}, for you alone`,
    `next: tollgate-host ${next}`,
  ]);
  return 0;
}

/** One that cannot be read is about to be replaced. */
async function earlierLogin(logins: LoginFile): Promise<Login | undefined> {
  try {
    return await logins.read();
  } catch (error) {
    if (error instanceof CommandError) return undefined;
    throw error;
  }
}

async function readGateway(flag: string | undefined, before: Login | undefined, context: CommandContext) {
  const usual = before?.gateway ?? LOCAL_GATEWAY;
  const asked = flag ?? (await context.terminal.ask?.(`Gateway address [${usual}]: `)) ?? before?.gateway;
  if (asked === undefined) throw new UsageError([`--gateway is missing: the gateway's address, e.g. ${LOCAL_GATEWAY}`]);
  const address = asked === "" ? usual : asked;
  if (!isHttpUrl(address)) throw new UsageError([`--gateway is not an address like ${LOCAL_GATEWAY}`]);
  return gatewayAddress(address);
}

async function readToken(flag: string | undefined, { env, terminal }: CommandContext): Promise<string> {
  const token =
    flag === "-"
      ? (await terminal.readInput()).trim()
      : (flag ?? env.TOLLGATE_HOST_TOKEN ?? (await terminal.ask?.("Host token (not shown): ", { hidden: true })));
  if (token === undefined || token === "")
    throw new UsageError(["--token is missing: pipe it in with --token -, or set TOLLGATE_HOST_TOKEN"]);
  // What was typed is never repeated: it may be a secret of another kind.
  if (!isHostToken(token)) throw new UsageError(["--token is not a host token: those begin with tht_live_"]);
  return token;
}

/** Whether whoever is on the way can read what is sent there. */
export const isUnencrypted = (address: string): boolean => address.startsWith("http:") && !isLoopback(address);
