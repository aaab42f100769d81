/** Messages for the errors that only tollgate-host has: what is wrong, and what to do next. */
import { type CommandFailure, type ExplainError, explainFailure } from "@tollgate/terminal/explain-failure.ts";
import { LLAMA_CPP_PACKAGE, LlamaCppMissingError } from "../engines/llama-cpp/load-llama-cpp.ts";
import { GatewayRefusal, GatewayUnreachable } from "./gateway/call-gateway.ts";

export const PROGRAM_NAME = "tollgate-host";

export const explainHostError: ExplainError = (error) => {
  if (error instanceof GatewayRefusal) {
    const { message, code, status } = error;
    const next = REMEDIES[code ?? ""] ?? (status >= 500 ? OUT_OF_ORDER : undefined);
    return { message: `${message.replace(/\.$/, "")}${code === undefined ? "" : ` (${code})`}`, next, code };
  }
  if (error instanceof GatewayUnreachable) return { message: error.message, next: UNREACHABLE };
  if (error instanceof LlamaCppMissingError) return { message: error.message, next: INSTALL };
  return undefined;
};

/** `usual`: the next step for errors that have none of their own. */
export const convertToCommandFailure = (error: unknown, usual?: string): CommandFailure =>
  explainFailure(error, PROGRAM_NAME, explainHostError, usual);

const INSTALL =
  `run npm install ${LLAMA_CPP_PACKAGE} in the folder where tollgate-host is installed, ` +
  "or use another engine (--engine)";
const UNREACHABLE = "check the address and the network; tollgate-host login --gateway URL stores another address";
const OUT_OF_ORDER = "try again in a moment; if it repeats, ask the platform's operator";

/** The next step for each of the gateway's error codes. */
const REMEDIES: Record<string, string | undefined> = {
  invalid_host_token: "create a new host token in the console, then tollgate-host login",
  node_not_found: "tollgate-host register",
  node_quarantined:
    "tollgate-host status shows why the node is quarantined; an operator of the platform can release it",
  node_state_conflict: "tollgate-host status shows the node's state",
  node_name_taken: "choose another name; tollgate-host status --all lists the names of your nodes",
  too_many_nodes: "tollgate-host status --all lists your nodes; tollgate-host retire --node ID retires one",
  no_elected_builds: "tollgate-host elect (choose models)",
  not_implemented: "ask the platform's operator to set up a dispatch plane",
  dispatch_admin_error: "the platform could not issue credentials: try again, or ask its operator",
  upstream_failed:
    "look at the engine's own log, or run tollgate-host doctor, which tests the engine without the gateway",
  upstream_stall:
    "the engine sent nothing for two seconds: run tollgate-host doctor, which tests the engine without the gateway",
};
