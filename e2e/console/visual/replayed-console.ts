/**
 * Serves the console, the docs and the status page from the sources, and answers API requests from the recording,
 * without a database or a node. A request without a recorded response fails the test and is named.
 */
import type { ServerResponse } from "node:http";
import { after, before, describe, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { createServerWithoutRoutes, listen } from "../../../gateway/src/http/server.ts";
import { makeTestHttpOptions } from "../../../gateway/src/routes/testing/http-options.ts";
import { addConsoleFileRoutes } from "../../../gateway/src/site/console-files.ts";
import { addReferenceRoutes } from "../../../gateway/src/site/reference/routes.ts";
import { statusRoutes } from "../../../gateway/src/site/status/routes.ts";
import type { Status } from "../../../gateway/src/site/status/status-document.ts";
import { type BrowserSession, buildConsole, NEEDS_CHROMIUM, openBrowser, openSecondUser } from "../console-browser.ts";
import { checkFitOnEveryScreen, checkVisualsOnEveryScreen } from "./page-checks.ts";
import type { Tour } from "./page-tour.ts";
import { type RecordedEvent, type RecordedResponse, readRecording, readRecordingTime } from "./recording-files.ts";

export const TIME_ZONE = "UTC";
/** The cookie that selects the role; it replaces a session. */
export const ROLE_COOKIE = "recorded-role";
/** Pages send this request to check whether the gateway is reachable. */
const PROBE = "GET /console/api/auth/methods";

interface ReplayedConsole {
  baseUrl: string;
  /**
   * From now on, holds back all API responses except the session's until they are released. If undefined, responses are
   * sent at once.
   */
  hold(answers: HeldResponses | undefined): void;
  /** Resolves like `visit`, but rejects as soon as a request has no recorded response. */
  unlessMissing(visit: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

/** The held requests in the order of their arrival. */
export type HeldResponses = { request: string; release: () => void }[];

export async function startReplayedConsole(): Promise<ReplayedConsole> {
  const recorded = [...readRecording().values()];
  let onMissing: (error: Error) => void = () => {};
  let held: HeldResponses | undefined;
  const app = createServerWithoutRoutes(makeTestHttpOptions());
  addReferenceRoutes(app, { door: makeTestHttpOptions() });
  addConsoleFileRoutes(app);
  const status = recorded.find(({ request }) => request === "GET /status.json")?.body as Status;
  statusRoutes(app, async () => status);
  for (const url of ["/console/api/*", "/v1/*"]) {
    app.all(url, async ({ raw }, reply) => {
      reply.hijack();
      const as = /recorded-role=(\w+)/.exec(raw.headers.cookie ?? "")?.[1] ?? "";
      const sent = (await Array.fromAsync(raw as AsyncIterable<Buffer>)).join("");
      const request = `${raw.method} ${raw.url}`;
      // One recording of these requests serves all roles: `PROBE` needs no sign-in, and the public API takes a key
      // instead of the role's cookie.
      const isForAll = request === PROBE || url === "/v1/*";
      const answer = recorded.find(
        (one) => (one.as === as || isForAll) && one.request === request && isDeepStrictEqual(one.sent, parsed(sent)),
      );
      if (answer === undefined) {
        onMissing(new Error(`no recorded answer: ${request} ${sent}, as ${as}. Run node e2e/console/visual/record.ts`));
        return void reply.raw.writeHead(501).end();
      }
      if (held !== undefined && !request.includes("/auth/")) {
        const { promise, resolve } = Promise.withResolvers<void>();
        held.push({ request, release: resolve });
        await promise;
      }
      send(answer, reply.raw);
    });
  }
  const port = await listen(app, { host: "127.0.0.1", port: 0 }, { host: "HOST", port: "PORT" });
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    hold(answers) {
      held = answers;
    },
    async unlessMissing(visit) {
      const { promise, reject } = Promise.withResolvers<never>();
      onMissing = reject;
      await Promise.race([visit(), promise]);
    },
    async close() {
      app.server.closeAllConnections();
      await app.close();
    },
  };
}

const parsed = (sent: string): unknown => (sent === "" ? undefined : JSON.parse(sent));

function send({ status, body, events }: RecordedResponse, response: ServerResponse): void {
  if (events === undefined) {
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    return;
  }
  // The playground finds its request's record by the header `x-request-id`. The recordings have no headers, so the ID
  // is taken from the recorded events.
  const [, id] = /"chatcmpl-(\w+)"/.exec(JSON.stringify(events)) ?? [];
  const headers = { "content-type": "text/event-stream", ...(id !== undefined && { "x-request-id": `req_${id}` }) };
  response.writeHead(status, headers).write(events.map(textOf).join(""));
  // Only a model's answer ends. Live streams stay open as long as the page.
  if (events.at(-1)?.data === "[DONE]") response.end();
}

const textOf = ({ event, data }: RecordedEvent): string =>
  `${event === undefined ? "" : `event: ${event}\n`}data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;

/** Opens the replayed console and a browser before the tests of a suite, and closes them afterwards. */
export function openReplayBeforeTests(): { replay: ReplayedConsole; browser: BrowserSession } {
  const opened = {} as { replay: ReplayedConsole; browser: BrowserSession };
  before(async () => {
    buildConsole();
    opened.replay = await startReplayedConsole();
    opened.browser = await openBrowser({ baseUrl: opened.replay.baseUrl });
  });
  after(async () => {
    await opened.browser?.close();
    await opened.replay?.close();
  });
  return opened;
}

/** Runs one test for each tour, all in the same browser. */
export function testTours(subject: string, tours: Tour[]): void {
  describe(subject, NEEDS_CHROMIUM, () => {
    const opened = openReplayBeforeTests();
    for (const { title, as, visit } of tours) {
      test(title, async () => {
        const { replay, browser } = opened;
        const { baseUrl } = replay;
        const session = await openSecondUser(browser, { baseUrl, timeZone: TIME_ZONE });
        const { page, context } = session;
        await context.addCookies([{ name: ROLE_COOKIE, value: as, url: baseUrl }]);
        await context.clock.setFixedTime(readRecordingTime());
        const touring = {
          browser: session,
          page,
          check: (where: string) => checkVisualsOnEveryScreen(session, where),
          checkFit: (where: string) => checkFitOnEveryScreen(session, where),
        };
        await replay.unlessMissing(() => visit(touring)).finally(() => session.close());
      });
    }
  });
}
