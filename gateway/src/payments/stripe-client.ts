/** Configures the official Stripe library: its URL, timeouts, and the parts of responses and errors that are used. */
import Stripe from "stripe";
import { ProviderUnavailable } from "./payment-provider.ts";

const REPEATS_MAX = 1;

interface StripeClientOptions {
  secretKey: string;
  /** Undefined means Stripe's own API. */
  apiBase: string | undefined;
  callMsMax: number;
}

export function stripeClient({ secretKey, apiBase, callMsMax }: StripeClientOptions): Stripe {
  return new Stripe(secretKey, {
    ...addressOf(apiBase),
    httpClient: objectsOnly(),
    timeout: callMsMax,
    maxNetworkRetries: REPEATS_MAX,
    telemetry: false,
  });
}

function addressOf(apiBase: string | undefined): Stripe.StripeConfig {
  if (apiBase === undefined) return {};
  const { protocol, hostname, port } = new URL(apiBase);
  const scheme = protocol === "http:" ? "http" : "https";
  // The port is explicit, because the library uses 443 by default even for HTTP.
  const standard = scheme === "http" ? 80 : 443;
  return { protocol: scheme, host: hostname.replace(/^\[|\]$/g, ""), port: port === "" ? standard : port };
}

/** Rejects responses that are not JSON objects, because they would crash the library and the process. */
function objectsOnly(): ReturnType<typeof Stripe.createNodeHttpClient> {
  const client = Stripe.createNodeHttpClient();
  const makeRequest = client.makeRequest.bind(client);
  client.makeRequest = async (...request) => {
    const response = await makeRequest(...request);
    const toJSON = response.toJSON.bind(response);
    response.toJSON = async () => {
      const body: unknown = await toJSON();
      if (typeof body !== "object" || body === null) throw new TypeError("the response is not a JSON object");
      return body;
    };
    return response;
  };
  return client;
}

/** Converts the library's errors. They contain headers and bodies, so only identifying fields are kept. */
export function toProviderUnavailable(error: unknown): ProviderUnavailable {
  if (error instanceof ProviderUnavailable) return error;
  if (!(error instanceof Stripe.errors.StripeError)) return new ProviderUnavailable(String(error));
  const { type, code, statusCode, requestId } = error;
  return new ProviderUnavailable(type, { code, status: statusCode, provider_request: requestId });
}
