/** `tollgate-host login`: stores the gateway's address and a host token after testing them. */

import type { CommandInput } from "@tollgate/terminal/command.ts";
import { CommandError, UsageError } from "@tollgate/terminal/errors.ts";
import { type Command, type CommandContext, printResult } from "./command.ts";
import { formatCounted } from "./format-values.ts";
import { normalizeGatewayAddress } from "./gateway/call-gateway.ts";
import { gatewayClient } from "./gateway/gateway-client.ts";
import type { Login, LoginFile } from "./login-file.ts";
import { isHostToken, isHttpUrl, isLoopback } from "./parse-arguments.ts";

const LOCAL_GATEWAY = "http://127.0.0.1:8080";

export const loginCommand: Command = {
  help: "store the gateway's address and a host token on this machine",
  flags: {
    gateway: { value: "URL", help: "the gateway's address or base URL, such as https://gateway.example" },
    token: { value: "-", help: "read the host token from standard input" },
  },
  more: [
    "Without --token the host token comes from the environment variable TOLLGATE_HOST_TOKEN, or from a prompt that hides it.",
    "The gateway checks the token; the command then stores it in a file that only you can read. Create host tokens in the platform's console.",
  ],
  example: "--gateway https://gateway.example",
  run,
};

async function run({ flags, json }: CommandInput, context: CommandContext): Promise<number> {
  const { logins, terminal } = context;
  const before = await earlierLogin(logins);
  const gateway = await readGateway(flags.gateway, before, context);
  const token = await readToken(flags.token, context);

  const client = gatewayClient({ gateway, token });
  const nodes = await client.nodes();
  // The node of the earlier login is kept if the account still has that node.
  const stillOurs = before !== undefined && nodes.some(({ id }) => id === before.node?.id) ? before : undefined;
  const { node, serving } = stillOurs ?? {};
  await logins.write({
    gateway: client.address,
    token,
    ...(node === undefined ? {} : { node }),
    ...(serving === undefined ? {} : { serving }),
  });
  if (isUnencrypted(client.address))
    terminal.remark(`warning: ${client.address} is not https. Others on the network can read the token.`);

  const next = node === undefined ? "register" : "up";
  printResult(context, json, { gateway: client.address, nodes: nodes.length, node: node?.id ?? null }, () => [
    `logged in to ${client.address}; the account has ${formatCounted(nodes.length, "node")}`,
    `stored the login in ${logins.path}; only you can read it`,
    `next: tollgate-host ${next}`,
  ]);
  return 0;
}

/** Returns the stored login. An unreadable file counts as none, because this login replaces it. */
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
  if (asked === undefined)
    throw new UsageError([`--gateway is missing: the gateway's address, such as ${LOCAL_GATEWAY}`]);
  const address = asked === "" ? usual : asked;
  if (!isHttpUrl(address)) throw new UsageError([`--gateway must be an address like ${LOCAL_GATEWAY}`]);
  return normalizeGatewayAddress(address);
}

async function readToken(flag: string | undefined, { env, terminal }: CommandContext): Promise<string> {
  const token =
    flag === "-"
      ? (await terminal.readInput()).trim()
      : (flag ?? env.TOLLGATE_HOST_TOKEN ?? (await terminal.ask?.("Host token (input is hidden): ", { hidden: true })));
  if (token === undefined || token === "")
    throw new UsageError(["--token is missing: pipe it in with --token -, or set TOLLGATE_HOST_TOKEN"]);
  // The error does not repeat the input, which may be a secret of another kind.
  if (!isHostToken(token)) throw new UsageError(["--token must be a host token, which begins with tht_live_"]);
  return token;
}

/** Whether the connection to this address is unencrypted and leaves this machine. */
export const isUnencrypted = (address: string): boolean => address.startsWith("http:") && !isLoopback(address);
