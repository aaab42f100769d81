/**
 * A small load balancer for suites that stop and start gateways. It requests each gateway's `/readyz` five times a
 * second and sends client requests to the ready gateways in turn.
 *
 * It drops a gateway at once if that reports not ready or refuses connections. A gateway that does not answer is
 * dropped only if `lateMs` is given, and only after two late checks in a row: on a busy machine any gateway may be
 * late.
 *
 * Every request has its own connection to a gateway. Another gateway is tried only if no connection could be made: a
 * request that was sent may have been executed, so it is never sent again. Bytes are relayed both ways as they arrive.
 * The balancer's own answers have the header `x-balancer`.
 */
import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as openRequest,
  type ServerResponse,
} from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { type Clock, systemClock } from "../gateway/src/base/clock.ts";

export const READINESS_CHECK_EVERY_MS = 200;
const LATE_MAX = 1;
/** How long an idle connection is kept. Longer than clients keep theirs, so that the clients close them. */
const KEEP_ALIVE_MS = 72_000;
/**
 * Headers that concern one connection and are not forwarded. (`transfer-encoding` is one of them, because Node decides
 * itself how to frame a body for the method.)
 */
const OF_A_CONNECTION = [
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
  "te",
  "expect",
];

interface BalancedGateway {
  port: number;
  internalPort: number;
}

interface BalancerOptions {
  /** Returns the current gateways. Called for every check, because suites start and stop gateways. */
  gateways: () => BalancedGateway[];
  /**
   * A gateway that has not answered a check after this time counts as late. If undefined, a check waits for its answer
   * without a limit.
   */
  lateMs?: number;
  clock?: Clock;
}

export interface Balancer {
  port: number;
  url: string;
  /** Returns how many gateways were ready at the last check. */
  ready(): number;
  close(): Promise<void>;
}

export async function startBalancer(options: BalancerOptions): Promise<Balancer> {
  const { gateways, lateMs, clock = systemClock } = options;
  const looks = new Readiness(gateways, (internalPort) => ask(internalPort, { clock, lateMs }));
  let turn = 0;
  const server = createServer((request, response) => {
    turn += 1;
    const dial = ({ port }: BalancedGateway) => connected(port, { clock, lateMs });
    pass(request, response, { gateways: inTurn(looks.ready(), turn), dial }).catch(() => response.destroy());
  });
  Object.assign(server, { keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: 0 });
  await looks.look();
  const stopLooking = clock.every(READINESS_CHECK_EVERY_MS, () => void looks.look());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port: own } = server.address() as AddressInfo;
  return {
    port: own,
    url: `http://127.0.0.1:${own}`,
    ready: () => looks.ready().length,
    async close() {
      stopLooking();
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

type Said = "ready" | "not ready" | "late";

class Readiness {
  readonly #gateways: () => BalancedGateway[];
  readonly #ask: (internalPort: number) => Promise<Said>;
  /** Whether each gateway is ready, by its internal port. */
  readonly #isReady = new Map<number, boolean>();
  readonly #asking = new Set<number>();
  /** How many late answers in a row each gateway gave, by its internal port. */
  readonly #late = new Map<number, number>();

  constructor(gateways: () => BalancedGateway[], ask: (internalPort: number) => Promise<Said>) {
    this.#gateways = gateways;
    this.#ask = ask;
  }

  ready(): BalancedGateway[] {
    return this.#gateways().filter(({ internalPort }) => this.#isReady.get(internalPort) === true);
  }

  async look(): Promise<void> {
    await Promise.all(this.#gateways().map(({ internalPort }) => this.#lookAt(internalPort)));
  }

  async #lookAt(internalPort: number): Promise<void> {
    if (this.#asking.has(internalPort)) return;
    this.#asking.add(internalPort);
    const said = await this.#ask(internalPort);
    this.#asking.delete(internalPort);
    const late = said === "late" ? (this.#late.get(internalPort) ?? 0) + 1 : 0;
    this.#late.set(internalPort, late);
    if (said !== "late" || late > LATE_MAX) this.#isReady.set(internalPort, said === "ready");
  }
}

interface Patience {
  clock: Clock;
  lateMs: number | undefined;
}

/** Calls `giveUp` after `lateMs`; returns a function that cancels it. */
const ifLate = ({ clock, lateMs }: Patience, giveUp: () => void): (() => void) =>
  lateMs === undefined ? () => {} : clock.after(lateMs, giveUp);

function ask(internalPort: number, patience: Patience): Promise<Said> {
  return new Promise((resolve) => {
    const asked = openRequest({ host: "127.0.0.1", port: internalPort, path: "/readyz", agent: false }, (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200 ? "ready" : "not ready");
    });
    const giveUp = (): void => {
      resolve("late");
      asked.destroy();
    };
    const stopTimer = ifLate(patience, giveUp);
    asked.on("error", () => resolve("not ready"));
    asked.on("close", () => {
      stopTimer();
      resolve("not ready");
    });
    asked.end();
  });
}

const inTurn = <T>(list: T[], turn: number): T[] => {
  const first = list.length === 0 ? 0 : turn % list.length;
  return [...list.slice(first), ...list.slice(0, first)];
};

interface Choice {
  gateways: BalancedGateway[];
  dial: (gateway: BalancedGateway) => Promise<Socket | undefined>;
}

async function pass(request: IncomingMessage, response: ServerResponse, { gateways, dial }: Choice): Promise<void> {
  for (const gateway of gateways) {
    const socket = await dial(gateway);
    if (socket !== undefined) return relay(request, response, socket);
  }
  say(response, 503, "no gateway is ready");
}

/** Connects to a gateway; resolves with undefined if nothing accepts the connection. */
function connected(port: number, patience: Patience): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port, noDelay: true });
    const giveUp = (): void => {
      stopTimer();
      socket.destroy();
      resolve(undefined);
    };
    const stopTimer = ifLate(patience, giveUp);
    socket.once("connect", () => {
      stopTimer();
      socket.off("error", giveUp);
      resolve(socket);
    });
    socket.once("error", giveUp);
  });
}

function relay(request: IncomingMessage, response: ServerResponse, socket: Socket): void {
  const { method, url: path, headers } = request;
  const upstream = openRequest({ method, path, headers: passedOn(headers), createConnection: () => socket });
  upstream.on("response", (answer) => {
    response.writeHead(answer.statusCode as number, passedOn(answer.headers));
    response.flushHeaders();
    answer.pipe(response);
    // Cuts the client's connection too, so that a partial answer does not look complete.
    answer.on("close", () => answer.complete || response.destroy());
  });
  upstream.on("error", () => {
    if (response.headersSent) response.destroy();
    else say(response, 502, "the gateway broke off");
  });
  response.on("close", () => response.writableFinished || upstream.destroy());
  if (response.destroyed) upstream.destroy();
  upstream.flushHeaders();
  request.pipe(upstream);
}

function passedOn(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_A_CONNECTION.includes(name)));
}

function say(response: ServerResponse, status: number, what: string): void {
  if (response.destroyed) return;
  response.writeHead(status, { "x-balancer": what, "content-type": "text/plain", "retry-after": "1" });
  response.end(`${what}\n`);
}
