/**
 * The console: its page, sign-in, and what a signed-in person sees. Checks come in a fixed order: route, method, other
 * site (403), session (401), account (403).
 */
import type { ServerResponse } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Account } from "../../accounts/accounts.ts";
import type { Identities, SignedIn } from "../../accounts/identities.ts";
import { chooseMember } from "../../accounts/member.ts";
import { parseId, publicId, type Uuid } from "../../base/ids.ts";
import { invariant } from "../../base/invariant.ts";
import { exactMicro, pico } from "../../base/money.ts";
import { fault, notFound, wrongMethod } from "../../faults.ts";
import type { Balance } from "../../ledger/ledger.ts";
import { type DoorOptions, type OpenCall, through } from "../door.ts";
import { AUTH_ROUTES, bridge } from "./auth.ts";
import { isCrossSite } from "./cross-site.ts";
import { readPage } from "./page.ts";

export interface ConsoleOptions {
  door: DoorOptions;
  identities: Identities;
  balance: (accountId: Uuid) => Promise<Balance | undefined>;
  receiptOfBuilder: (accountId: Uuid, requestId: Uuid) => Promise<object | undefined>;
  /** How browsers reach the gateway, where that is known. */
  publicUrl: string | undefined;
}

interface Visit {
  call: OpenCall;
  response: ServerResponse;
  address: string;
  params: Record<string, string>;
}

type Handle = (visit: Visit) => Promise<void>;

export function consoleRoutes(app: FastifyInstance, options: ConsoleOptions): void {
  const { identities } = options;
  const handler = (handle: Handle) => async (request: FastifyRequest, reply: FastifyReply) => {
    reply.hijack();
    const { raw: response } = reply;
    response.setHeader("x-content-type-options", "nosniff");
    response.setHeader("cache-control", "no-store");
    await through(options.door, { request: request.raw, response }, (call) =>
      handle({ call, response, address: request.ip, params: request.params as Record<string, string> }),
    );
  };
  const refuse = (make: () => Error) =>
    handler(async () => {
      throw make();
    });
  /** One path, one method; every other method is told which. */
  const route = (method: "GET" | "POST", url: string, handle: Handle): void => {
    const guarded: Handle = async (visit) => {
      if (isCrossSite(arrivalOf(visit.call), options.publicUrl)) throw fault("cross_site_blocked");
      await handle(visit);
    };
    app.route({ method, url, handler: handler(guarded) });
    const others = app.supportedMethods.filter((other) => other !== method);
    app.route({ method: others, url, handler: refuse(() => wrongMethod([method])) });
  };

  for (const { url, body, headers } of readPage()) {
    route("GET", url, async ({ call }) => call.reply.json(200, body, headers));
  }
  for (const auth of AUTH_ROUTES) route(auth.method, auth.url, (visit) => bridge(identities, auth, visit));

  route("GET", "/console/api/me", async ({ call }) => {
    const who = await signedIn(identities, call);
    const accounts = await identities.accountsOf(who.identityId);
    const { email, name, operator } = who;
    call.reply.json(200, JSON.stringify({ identity: { email, name, operator }, accounts: accounts.map(show) }));
  });
  route("GET", "/console/api/balance", async ({ call }) => {
    const account = await member(identities, await signedIn(identities, call));
    const money = await options.balance(account.id);
    invariant(money !== undefined, `account ${account.id} has no books`);
    call.reply.json(200, JSON.stringify(balanceObject(money)));
  });

  route("GET", "/console/api/requests/:id/receipt", async ({ call, params }) => {
    const account = await member(identities, await signedIn(identities, call));
    const id = parseId("req", params.id ?? "");
    const receipt = id === undefined ? undefined : await options.receiptOfBuilder(account.id, id);
    if (receipt === undefined) throw fault("not_found");
    call.reply.json(200, JSON.stringify(receipt));
  });

  const unknown = refuse(() => notFound("No such path under /console/api."));
  app.all("/console/api", unknown);
  app.all("/console/api/*", unknown);
}

function arrivalOf({ request }: OpenCall): Parameters<typeof isCrossSite>[0] {
  const { origin, host, "sec-fetch-site": site } = request.headers;
  return { method: request.method ?? "", site: site?.toString(), origin, host };
}

async function signedIn(identities: Identities, { request }: OpenCall): Promise<SignedIn> {
  const { cookie } = request.headers;
  const found = cookie === undefined ? undefined : await identities.session(new Headers({ cookie }));
  if (found === undefined) throw fault("not_authenticated");
  return found;
}

async function member(identities: Identities, who: SignedIn): Promise<Account> {
  const membership = chooseMember(await identities.accountsOf(who.identityId), who);
  if (membership.kind === "none") throw fault(membership.why);
  return membership.account;
}

function show({ id, kind, name, suspended }: Account): object {
  return { id: publicId("acc", id), kind, name, suspended };
}

function balanceObject({ balance, held }: Balance): object {
  return {
    object: "balance",
    balance_micro: exactMicro(balance),
    held_micro: exactMicro(held),
    available_micro: exactMicro(pico(balance - held)),
  };
}
