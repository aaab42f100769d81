/** A stream of events that keeps the figures on open console pages current. */
import { z } from "zod";
import { Count, Id, Money, makeSampleId } from "../common-schemas.ts";
import { refusalsOfCodes } from "../faults.ts";
import { declareRoutes } from "../route-declaration.ts";
import { Balance, sampleBalance } from "./balance-and-usage.ts";
import { ModelCapacity, NodesByState } from "./operator-platform.ts";

const LiveRequests = z.strictObject({
  in_flight: Count.describe("Requests in flight."),
  latest: Id("req").nullable().describe("The newest request in the history."),
});

const LiveLoad = z.strictObject({
  in_flight: Count.describe("Requests in flight, of all builders."),
  held_micro: Money,
  nodes: NodesByState,
  slots: Count.describe(
    "Number of requests that the connected nodes can serve at a time. A node counts once, however many models it serves.",
  ),
  busy: Count.describe("How many slots are in use."),
  capacity: z.array(ModelCapacity),
});

/** An event describes the present, so it needs no `as_of` (the time of the figures). */
const LiveBalance = Balance.omit({ as_of: true });
const { as_of: _, ...liveBalance } = sampleBalance;

export const liveResponseSchemas = { LiveBalance, LiveRequests, LiveLoad };

const STREAM =
  "Server-sent events. Each kind of event is sent once at the start and then whenever it changes, at most once a second. A comment line `: keep-alive` is sent every 15 seconds. The stream ends after five minutes; reconnect then.";

const transcript = (events: Record<string, unknown>): string =>
  [
    "retry: 2000\n\n",
    ...Object.entries(events).map(([name, data]) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`),
  ].join("");

export const liveRoutes = declareRoutes({
  watchAccount: {
    at: "GET /console/api/live",
    summary: "Watch a builder account",
    guard: "builder",
    answer: {
      description: "A stream of events named `balance` and `requests`.",
      events: {
        description: `${STREAM} The stream also ends when the viewer's role changes; get the session again then.`,
        named: { balance: LiveBalance, requests: LiveRequests },
        example: transcript({ balance: liveBalance, requests: { in_flight: 1, latest: makeSampleId("req") } }),
      },
    },
    faults: refusalsOfCodes("too_many_viewers"),
  },
  watchPlatform: {
    at: "GET /console/api/operator/live",
    summary: "Watch the platform",
    guard: "operator",
    answer: {
      description: "A stream of events named `load`.",
      events: {
        description: STREAM,
        named: { load: LiveLoad },
        example: transcript({
          load: {
            in_flight: 3,
            held_micro: "29491.200000",
            nodes: { online: 2 },
            slots: 8,
            busy: 3,
            capacity: [{ model: "small-8b", nodes: 2, slots: 8, busy: 3 }],
          },
        }),
      },
    },
    faults: refusalsOfCodes("too_many_viewers"),
  },
});
