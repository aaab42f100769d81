/** Turns an API error into advice for the user. Pure. */
import type { Fault } from "./answer-state.ts";

interface Advice {
  text: string;
  /** The page where the user can fix the problem. */
  link?: "credits" | "keys";
  /** Whether the same message may be sent again, at once or later. */
  again?: boolean;
}

export function adviseOnFault({ code, message, againAtMs }: Fault, nowMs: number): Advice {
  switch (code) {
    case "insufficient_credits":
      return { text: "You have no credit left. Add credit, then send this message again.", link: "credits" };
    case "hold_exceeds_balance":
      // The API's message names the key's budget, the remaining amount and the time of the reset.
      if (/ budget of /.test(message)) return { text: message, link: "keys" };
      return {
        text: "This message reserves more than your available credit. Lower the max output tokens, or add credit.",
        link: "credits",
      };
    case "rate_limit_requests":
    case "rate_limit_tokens":
    case "rate_limit_streams":
      return { text: `Playground rate limit reached. ${againIn(againAtMs, nowMs)}`, again: true };
    case "rate_limit_sku_capacity":
    case "no_capacity":
      return {
        text: `No node is free for this model at the moment. ${againIn(againAtMs, nowMs)} Or choose another model.`,
        again: true,
      };
    case "invalid_api_key":
      return { text: "Your session has expired. Sign in again. This conversation is kept." };
    default:
      return { text: message };
  }
}

function againIn(againAtMs: number | undefined, nowMs: number): string {
  const seconds = againAtMs === undefined ? 0 : Math.ceil((againAtMs - nowMs) / 1000);
  if (seconds <= 0) return "You can try again now.";
  return `Try again in ${seconds} ${seconds === 1 ? "second" : "seconds"}.`;
}
