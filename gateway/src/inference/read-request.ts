/**
 * Converts a body to a request with a counted prompt. A small body is read on the event loop, a large one on a worker
 * thread, by the same rules in the same order. The thread returns only small data and the job's encoded body.
 */
import { IGNORED_FIELDS_HEADER } from "@tollgate/api/public/ignored-fields.ts";
import { invariant } from "../base/invariant.ts";
import { Fault } from "../faults.ts";
import type { ActiveModel, Catalogue, ModelForTokenCounting } from "../metering/catalogue.ts";
import type { TokenMeter } from "../metering/token-meter.ts";
import { countPromptTokens, findModel } from "./admit.ts";
import type { Call, CountedRequest } from "./call-interface.ts";
import type { ClientSdk, Endpoint, ParsedRequest } from "./endpoint.ts";
import type { RequestPathDependencies } from "./request-path-dependencies.ts";

/**
 * Parses the fields and counts the prompt. The order of errors is the same on any thread: invalid fields (400), model
 * (404), context (400).
 */
export async function readFields<Model extends ModelForTokenCounting>(
  gw: Pick<RequestPathDependencies, "meter"> & { catalogue: () => { active: Map<string, Model> } },
  {
    endpoint,
    json,
    sdk,
    payer,
    allowed = null,
    labels = false,
  }: {
    endpoint: Pick<Endpoint, "parse" | "kind">;
    json: unknown;
    sdk: ClientSdk | null;
    payer: string;
    allowed?: readonly string[] | null;
    labels?: boolean;
  },
): Promise<{ ask: ParsedRequest; model: Model; meter: TokenMeter; promptTokens: number }> {
  const ask = withLabels(endpoint.parse(json, sdk), labels); // Throws 400.
  try {
    const model = findModel(gw.catalogue(), ask, { kind: endpoint.kind, allowed }); // Throws 404.
    const meter = gw.meter(model.build.tokenizer);
    return { ask, model, meter, promptTokens: await countPromptTokens(meter, model, ask, payer) }; // Throws 400.
  } catch (error) {
    throw error instanceof Fault ? error.withHeaders(buildIgnoredFieldsHeader(ask)).ofModel(ask.model) : error;
  }
}

/** Without labels enabled for the key, the label is dropped and its field is listed as ignored. */
function withLabels(ask: ParsedRequest, labels: boolean): ParsedRequest {
  if (!labels) return { ...ask, label: null };
  return { ...ask, ignored: ask.ignored.filter((name) => name !== ask.labelField) };
}

/** The header that lists ignored fields, for every answer to a parsed request. */
export function buildIgnoredFieldsHeader({ ignored }: Pick<ParsedRequest, "ignored">): Record<string, string> {
  return ignored.length === 0 ? {} : { [IGNORED_FIELDS_HEADER]: ignored.join(", ") };
}

export async function readRequest(
  gw: Pick<RequestPathDependencies, "catalogue" | "meter" | "reader">,
  {
    call,
    payer,
    endpoint,
    allowed = null,
    labels = false,
  }: {
    call: Call;
    payer: string;
    endpoint: Endpoint;
    /** The models that the API key may use; null for all. */
    allowed?: readonly string[] | null;
    labels?: boolean;
  },
): Promise<{ ask: CountedRequest; model: ActiveModel; meter: TokenMeter; promptTokens: number }> {
  const body = await call.readBody(payer); // Throws 413, 415 or 503.
  const { sdk } = call;
  if (body.isSmall) return await readFields(gw, { endpoint, json: body.json(), sdk, payer, allowed, labels });
  // Uses one catalogue throughout, because it may be replaced during the read.
  const catalogue = gw.catalogue();
  const { schema } = endpoint;
  const { ask, promptTokens } = await gw.reader.read(body, {
    schema,
    sdk,
    models: serializeModels(catalogue),
    allowed,
    labels,
    payer,
  });
  const model = catalogue.active.get(ask.model);
  invariant(model !== undefined, "the other thread found a model that was given to it");
  if (ask.body instanceof Uint8Array) body.keep(ask.body.byteLength);
  return { ask, model, meter: gw.meter(model.build.tokenizer), promptTokens };
}

const written = new WeakMap<Catalogue, string>();

/**
 * The models as text for another thread. The text is cached per catalogue, so that it is cheap to send and to compare.
 */
export function serializeModels(catalogue: Catalogue): string {
  const known = written.get(catalogue);
  if (known !== undefined) return known;
  const models = [...catalogue.active.values()].map(
    ({ id, kind, contextLimit, build: { tokenizer } }): ModelForTokenCounting => ({
      id,
      kind,
      contextLimit,
      build: { tokenizer },
    }),
  );
  const text = JSON.stringify(models);
  written.set(catalogue, text);
  return text;
}

/** Parses the text that `serializeModels` created. */
export const deserializeModels = (text: string): Map<string, ModelForTokenCounting> =>
  new Map((JSON.parse(text) as ModelForTokenCounting[]).map((model) => [model.id, model]));
