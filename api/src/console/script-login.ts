/**
 * Console sessions for scripts. A script starts a login and gets a token and a code. When a signed-in person confirms
 * the code in the browser, the token becomes a session of that person.
 */
import { z } from "zod";
import { Count, SAMPLE_TIME, Time } from "../common-schemas.ts";
import { SCRIPT_ACCESS } from "../enumerations.ts";
import { refusal } from "../faults.ts";
import { isPlainText, PLAIN_TEXT_RULE } from "../plain-text.ts";
import { declareRoutes } from "../route-declaration.ts";
import { SIGN_IN_REFUSALS } from "./sign-in.ts";

const AUTH = "/console/api/auth/scripts";
const LOGIN = "/console/api/script-logins/{code}";

const Access = z
  .enum(SCRIPT_ACCESS, 'must be "read" or "write"')
  .describe("`read`: only reads. `write`: also changes what the person's role in each account allows.");

const BeginFields = z.object({
  name: z
    .string("must be a string")
    .trim()
    .min(1, "must not be empty")
    .max(100, "must have at most 100 characters")
    .refine(isPlainText, PLAIN_TEXT_RULE),
  access: Access.default("read"),
});
const TokenFields = z.object({
  token: z.string("must be a string").regex(/^tgs_[0-9A-Za-z_-]{43}$/, "must be the token of a script login (tgs_…)"),
});
const AnswerFields = z.object({ confirm: z.boolean("must be true or false") });

const ScriptLoginStarted = z.strictObject({
  token: z.string().describe("The token of the future session. It works once the login is confirmed. Shown only once."),
  code: z.string().describe("The code to confirm in the browser."),
  confirm_path: z.string().describe("The console page that confirms the code, relative to the gateway's address."),
  expires_at: Time.describe("When the login ends if nobody confirms it."),
  poll_s: Count.describe("How long to wait between two questions about the state, in seconds."),
});

const ScriptLoginState = z.strictObject({
  status: z
    .enum(["pending", "confirmed", "refused", "expired"])
    .describe("`confirmed`: the token is a session now. `expired`: also for an unknown token."),
  expires_at: Time.nullable().describe("When the session ends; null unless it is confirmed."),
});

const ScriptLogin = z.strictObject({
  code: z.string(),
  name: z.string().describe("What the script calls itself."),
  access: Access,
  address: z.string().nullable().describe("Where the login was started from."),
  expires_at: Time,
});

const ScriptLoginAnswered = z.strictObject({ status: z.enum(["confirmed", "refused"]) });

export const scriptLoginResponseSchemas = { ScriptLoginStarted, ScriptLoginState, ScriptLogin, ScriptLoginAnswered };

export const scriptLoginRequestSchemas = {
  ScriptLoginRequest: {
    fields: BeginFields,
    words: { name: "What the list of sessions calls the script.", access: "What the session may do." },
  },
  ScriptTokenRequest: { fields: TokenFields, words: { token: "The token of the login." } },
  ScriptLoginAnswer: { fields: AnswerFields, words: { confirm: "Whether the script gets the session." } },
};

const CODE = "BCDF-GHJK";
const TOKEN = `tgs_${"0".repeat(43)}`;
const path = { code: "The code that the script shows." };
const faults = [
  refusal("not_found", "No login waits for this code. A code works once and for 10 minutes. Run tollgate login again."),
  refusal("operator_excluded"),
  SIGN_IN_REFUSALS.too_many_attempts,
];

export const scriptLoginRoutes = declareRoutes({
  beginScriptLogin: {
    at: `POST ${AUTH}`,
    summary: "Start a login for a script",
    description:
      "The token becomes a session when a person confirms the code in the browser. Send it as `Authorization: Bearer tgs_…`. The session lasts 30 days and is never an operator's.",
    guard: "anyone",
    body: { fields: BeginFields, example: { name: "tollgate on build-1", access: "read" } },
    answer: {
      status: 201,
      description: "The token and the code.",
      json: ScriptLoginStarted,
      example: {
        token: TOKEN,
        code: CODE,
        confirm_path: `/console/authorize?code=${CODE}`,
        expires_at: SAMPLE_TIME,
        poll_s: 1,
      },
    },
    faults: [SIGN_IN_REFUSALS.too_many_attempts],
  },
  getScriptLoginState: {
    at: `POST ${AUTH}/state`,
    summary: "Ask whether a login for a script is confirmed",
    guard: "anyone",
    body: { fields: TokenFields, example: { token: TOKEN } },
    answer: {
      description: "The state of the login.",
      json: ScriptLoginState,
      example: { status: "pending", expires_at: null },
    },
  },
  readScriptLogin: {
    at: `GET ${LOGIN}`,
    summary: "Read a script's login before you confirm it",
    guard: "signedIn",
    path,
    answer: {
      description: "Who asks, and for what.",
      json: ScriptLogin,
      example: {
        code: CODE,
        name: "tollgate on build-1",
        access: "read",
        address: "203.0.113.7",
        expires_at: SAMPLE_TIME,
      },
    },
    faults,
  },
  answerScriptLogin: {
    at: `POST ${LOGIN}`,
    summary: "Confirm or refuse a script's login",
    description: "A confirmed login is one of your sessions. GET /console/api/sessions lists it.",
    guard: "signedIn",
    path,
    body: { fields: AnswerFields, example: { confirm: true } },
    answer: { description: "The login is answered.", json: ScriptLoginAnswered, example: { status: "confirmed" } },
    faults,
  },
});
