/**
 * A small balancer before several gateways, for suites that stop and start them: it asks each one's `/readyz` five times a second and
 * sends requests to the ready ones in turn. One that says that it is not ready, or takes no connection, is left at once; one that does
 * not answer in time only when that happens again, as balancers are set up everywhere: on a busy machine anybody is late once. Every request has a connection of its own to a gateway. Another gateway is tried only
 * where no connection could be made: what was sent once may have been done, and is never sent again. Bytes pass both ways as they
 * come. What it answers itself says so in `x-balancer`.
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

const LOOK_EVERY_MS = 200;
/** `/readyz` is answered within a second, or its gateway is not ready. */
const LOOK_MS_MAX = 1_000;
const LATE_MAX = 1;
const CONNECT_MS_MAX = 1_000;
/** Longer than clients keep a connection that they do not use: it is for them to close it. */
const KEEP_ALIVE_MS = 72_000;
/** Of one connection, not of the request. (How a body is cut is Node's to honour: some methods have no other way to carry one.) */
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
  /** Asked again with every look: gateways come and go. */
  gateways: () => BalancedGateway[];
  port?: number;
}

export interface Balancer {
  port: number;
  url: string;
  /** How many gateways took requests when they were looked at last. */
  ready(): number;
  close(): Promise<void>;
}

export async function startBalancer({ gateways, port = 0 }: BalancerOptions): Promise<Balancer> {
  const looks = new Readiness(gateways);
  let turn = 0;
  const server = createServer((request, response) => {
    turn += 1;
    pass(request, response, inTurn(looks.ready(), turn)).catch(() => response.destroy());
  });
  Object.assign(server, { keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: 0 });
  await looks.look();
  const stopLooking = setInterval(() => void looks.look(), LOOK_EVERY_MS);
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const { port: own } = server.address() as AddressInfo;
  return {
    port: own,
    url: `http://127.0.0.1:${own}`,
    ready: () => looks.ready().length,
    async close() {
      clearInterval(stopLooking);
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

class Readiness {
  readonly #gateways: () => BalancedGateway[];
  /** By internal port. */
  readonly #isReady = new Map<number, boolean>();
  readonly #asking = new Set<number>();
  /** How often in a row it did not answer in time. */
  readonly #late = new Map<number, number>();

  constructor(gateways: () => BalancedGateway[]) {
    this.#gateways = gateways;
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
    const said = await ask(internalPort);
    this.#asking.delete(internalPort);
    const late = said === "late" ? (this.#late.get(internalPort) ?? 0) + 1 : 0;
    this.#late.set(internalPort, late);
    if (said !== "late" || late > LATE_MAX) this.#isReady.set(internalPort, said === "ready");
  }
}

function ask(internalPort: number): Promise<"ready" | "not ready" | "late"> {
  return new Promise((resolve) => {
    const asked = openRequest({ host: "127.0.0.1", port: internalPort, path: "/readyz", agent: false }, (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200 ? "ready" : "not ready");
    });
    asked.setTimeout(LOOK_MS_MAX, () => {
      resolve("late");
      asked.destroy();
    });
    asked.on("error", () => resolve("not ready"));
    asked.on("close", () => resolve("not ready"));
    asked.end();
  });
}

const inTurn = <T>(list: T[], turn: number): T[] => {
  const first = list.length === 0 ? 0 : turn % list.length;
  return [...list.slice(first), ...list.slice(0, first)];
};

async function pass(request: IncomingMessage, response: ServerResponse, gateways: BalancedGateway[]): Promise<void> {
  for (const { port } of gateways) {
    const socket = await connected(port);
    if (socket !== undefined) return relay(request, response, socket);
  }
  say(response, 503, "no gateway is ready");
}

/** Undefined where nobody takes the connection. */
function connected(port: number): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port, noDelay: true });
    const giveUp = (): void => {
      socket.destroy();
      resolve(undefined);
    };
    const timer = setTimeout(giveUp, CONNECT_MS_MAX);
    socket.once("connect", () => {
      clearTimeout(timer);
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
    // Part of an answer must not pass for the whole.
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
