/**
 * For tests: the HTTP parts of a server, with the gateway's default memory for large bodies. Forms are parsed on the
 * main thread.
 */
import { systemClock } from "../../base/clock.ts";
import { newIds } from "../../base/ids.ts";
import { createLog } from "../../base/log.ts";
import { systemRandom } from "../../base/random.ts";
import { rateLimitedLog } from "../../base/rate-limited-log.ts";
import { openBodyBudget } from "../../http/body-budget.ts";
import type { HttpOptions, LargeBodyParsing } from "../../http/http-call.ts";
import { FORM_VALUES_MAX, parseJson } from "../../http/request-body.ts";
import { truncateLongTexts } from "../../http/truncate-long-texts.ts";
import type { LargeBodyReader } from "../../inference/call-interface.ts";

const MEBIBYTE = 1024 * 1024;

export const makeTestHttpOptions = (more: Partial<HttpOptions> = {}): HttpOptions => {
  const { clock = systemClock, log = createLog("silent") } = more;
  return {
    clock,
    newId: newIds(systemClock, systemRandom()),
    log,
    troubles: rateLimitedLog(log, clock),
    bodies: makeTestLargeBodies(),
    ...more,
  };
};

export const makeTestLargeBodies = (): LargeBodyParsing => ({
  budget: openBodyBudget({ gatewayBytesMax: 256 * MEBIBYTE, payerBytesMax: 64 * MEBIBYTE }),
  parseForm: async ({ pieces }) => truncateLongTexts(parseJson(Buffer.concat(pieces), FORM_VALUES_MAX)),
});

/** A reader for tests that send no body large enough for a worker thread. */
export const NO_LARGE_BODY_READER: LargeBodyReader = {
  read: () => Promise.reject(new Error("no test sends a large request here")),
};
