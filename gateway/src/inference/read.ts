/**
 * Turns a body into a request with a counted prompt. A small body is read on the event loop; a large one on another thread, by the same
 * rules in the same order. That thread returns only small data and the job's encoded body.
 */
import { IGNORED_HEADER } from "@tollgate/api/public/ignored.ts";
import { invariant } from "../base/invariant.ts";
import { Fault } from "../faults.ts";
import type { ActiveModel, Catalogue, CountedModel } from "../metering/catalogue.ts";
import type { Meter } from "../metering/meter.ts";
import { countPrompt, findModel } from "./admit.ts";
import type { Call, ReadAsk } from "./call.ts";
import type { Ask, Endpoint, Sdk } from "./endpoint.ts";
import type { Gateway } from "./gateway.ts";

/** The faults of a body in order, on any thread: not JSON (400), fields (400), model (404), context (400). */
export async function readFields<Model extends CountedModel>(
  gw: Pick<Gateway, "meter"> & { catalogue: () => { active: Map<string, Model> } },
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
    sdk: Sdk | null;
    payer: string;
    allowed?: readonly string[] | null;
    labels?: boolean;
  },
): Promise<{ ask: Ask; model: Model; meter: Meter; promptTokens: number }> {
  const ask = withLabels(endpoint.parse(json, sdk), labels); // 400
  try {
    const model = findModel(gw.catalogue(), ask, { kind: endpoint.kind, allowed }); // 404
    const meter = gw.meter(model.build.tokenizer);
    return { ask, model, meter, promptTokens: await countPrompt(meter, model, ask, payer) }; // 400
  } catch (error) {
    throw error instanceof Fault ? error.withHeaders(ignoredHeaders(ask)).ofModel(ask.model) : error;
  }
}

/** Labels are ignored like other fields, unless the key's owner enabled them. */
function withLabels(ask: Ask, labels: boolean): Ask {
  if (!labels) return { ...ask, label: null };
  return { ...ask, ignored: ask.ignored.filter((name) => name !== ask.labelField) };
}

/** The header that lists ignored fields, on every answer to a parsed request. */
export function ignoredHeaders({ ignored }: Pick<Ask, "ignored">): Record<string, string> {
  return ignored.length === 0 ? {} : { [IGNORED_HEADER]: ignored.join(", ") };
}

export async function readAsk(
  gw: Pick<Gateway, "catalogue" | "meter" | "reader">,
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
    /** The models that the key may use; null: all. */
    allowed?: readonly string[] | null;
    labels?: boolean;
  },
): Promise<{ ask: ReadAsk; model: ActiveModel; meter: Meter; promptTokens: number }> {
  const body = await call.readBody(payer); // 413 · 415 · 503
  const { sdk } = call;
  if (body.isSmall) return await readFields(gw, { endpoint, json: body.json(), sdk, payer, allowed, labels });
  // One catalogue throughout, because it may be replaced meanwhile.
  const catalogue = gw.catalogue();
  const { schema } = endpoint;
  const { ask, promptTokens } = await gw.reader.read(body, {
    schema,
    sdk,
    models: writeModels(catalogue),
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

/** The models for another thread: one text per catalogue, which is cheap to send and to compare. */
export function writeModels(catalogue: Catalogue): string {
  const known = written.get(catalogue);
  if (known !== undefined) return known;
  const models = [...catalogue.active.values()].map(
    ({ id, kind, contextLimit, build: { tokenizer } }): CountedModel => ({
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

/** Parses the text of `writeModels`. */
export const readModels = (text: string): Map<string, CountedModel> =>
  new Map((JSON.parse(text) as CountedModel[]).map((model) => [model.id, model]));
