/** The page of one model: properties, prices, current and past performance, and sample code. */
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import type { Model } from "../../api/answer-types.ts";
import { findChosenAccount } from "../../api/chosen-account.ts";
import { modelQuery } from "../../data/live-models.ts";
import { useMe } from "../../data/signed-in-session.ts";
import { formatUtcDay } from "../../format-time.ts";
import { makeEmbeddingSnippets, makeSnippets } from "../../request-snippets.ts";
import { buttonClasses } from "../../ui/button.tsx";
import { Card, PageHeader, Stat, StatGrid } from "../../ui/card.tsx";
import { CodeTabs } from "../../ui/code.tsx";
import { Property, PropertyList } from "../../ui/drawer.tsx";
import { ArrowLeft } from "../../ui/icons.tsx";
import { LoadedQuery } from "../../ui/loading-states.tsx";
import { MoneyText } from "../../ui/money-text.tsx";
import { PageSections } from "../../ui/page-sections.tsx";
import { CountText, DurationText, formatCount } from "../../ui/time-text.tsx";
import { ModelHistory } from "./model-history.tsx";
import { ModelAvailability } from "./model-table.tsx";

const PLACEHOLDER = "tsk_live_YOUR_KEY";

export function ModelPage() {
  const { id } = useParams({ from: "/app/models/$id" });
  const model = useQuery(modelQuery(id));
  return (
    <>
      <Link to="/models" className="mb-3 inline-flex items-center gap-1.5 text-ink-soft hover:text-ink">
        <ArrowLeft aria-hidden className="size-4" />
        Models
      </Link>
      {model.data === undefined && <PageHeader title={id} />}
      <LoadedQuery query={model}>{(found) => <Details model={found} />}</LoadedQuery>
    </>
  );
}

function Details({ model }: { model: Model }) {
  const { id, kind, status } = model;
  return (
    <>
      <PageHeader title={id} about={<ModelAvailability model={model} />} actions={<Actions model={model} />} />
      <PageSections>
        {status === "active" && (
          <>
            <Now model={model} />
            <ModelHistory id={id} isEmbedding={kind === "embedding"} />
          </>
        )}
        <div className="grid grid-cols-1 gap-5 lg:grid-cols-2">
          <Card title="About this model">
            <AboutIt model={model} />
          </Card>
          {status === "active" && (
            <Card title="Example request">
              <CodeTabs label="Language" snippets={codeOf(model)} />
            </Card>
          )}
        </div>
      </PageSections>
    </>
  );
}

function Actions({ model: { id, nodes, kind, status } }: { model: Model }) {
  const { accounts } = useMe();
  const builds = findChosenAccount("builder", accounts) !== undefined;
  return (
    <>
      {status === "active" && (
        <Link to="/models" hash="estimate" className={buttonClasses("plain")}>
          Estimate cost
        </Link>
      )}
      {builds && nodes > 0 && kind === "generation" && (
        <Link to="/playground" search={{ model: id }} className={buttonClasses("primary")}>
          Try in the playground
        </Link>
      )}
    </>
  );
}

function Now({ model: { kind, nodes, slots, busy, waiting, ttft_p50_ms, tps_p50 } }: { model: Model }) {
  return (
    <StatGrid label="Now">
      <Stat label="Nodes">
        <CountText of={nodes} />
      </Stat>
      <Stat label="Slots busy" note={waiting === 0 ? "No requests waiting" : `${formatCount(waiting)} waiting`}>
        {nodes === 0 ? (
          "–"
        ) : (
          <>
            <CountText of={busy} /> <span className="text-ink-soft">of</span> <CountText of={slots} />
          </>
        )}
      </Stat>
      {kind === "generation" && (
        <Stat label="First token now" note="Median across nodes">
          <DurationText ms={ttft_p50_ms} />
        </Stat>
      )}
      <Stat label="Speed now" note="Tokens per second, median across nodes">
        {tps_p50 === null ? "–" : <CountText of={Math.round(tps_p50)} />}
      </Stat>
    </StatGrid>
  );
}

function AboutIt({ model }: { model: Model }) {
  const { kind, build, licence, context_limit, reasoning, vector_width, structured_output, nodes } = model;
  const price = (micro: number | null) =>
    micro === null ? (
      "–"
    ) : (
      <>
        <MoneyText of={String(micro)} /> <span className="text-ink-soft">per million tokens</span>
      </>
    );
  return (
    <PropertyList>
      <Property name="Type">{kind === "embedding" ? "Embeddings" : "Text generation"}</Property>
      <Property name="Class">{model.class}</Property>
      <Property name="Input price">{price(model.price_in_micro_1m)}</Property>
      {kind === "generation" && <Property name="Output price">{price(model.price_out_micro_1m)}</Property>}
      <Property name="Context">{context_limit === null ? "–" : `${formatCount(context_limit)} tokens`}</Property>
      {vector_width !== null && <Property name="Embedding dimensions">{formatCount(vector_width)}</Property>}
      <Property name="Quantisation">{model.quant_label}</Property>
      <Property name="Build">{build === null ? "–" : <code className="font-mono">{build}</code>}</Property>
      <Property name="Tokenizer">{model.tokenizer ?? "–"}</Property>
      <Property name="Licence">{licence ?? <span className="text-ink-soft">not specified</span>}</Property>
      {kind === "generation" && (
        <>
          <Property name="Reasoning">
            {reasoning ? "Returned separately from the answer, billed as output" : "Not returned separately"}
          </Property>
          <Property name="Structured output">
            {structured_output ? "Supported" : nodes === 0 ? "–" : "Not supported by the nodes online now"}
          </Property>
        </>
      )}
      <Property name="Added">{formatUtcDay(model.listed)}</Property>
    </PropertyList>
  );
}

function codeOf({ id, kind }: Model) {
  const address = { baseUrl: `${location.origin}/v1`, apiKey: PLACEHOLDER };
  if (kind === "embedding") {
    return makeEmbeddingSnippets({ ...address, body: { model: id, input: ["A cat naps on the sofa."] } });
  }
  const messages = [{ role: "user", content: "Tell me a story about a fox" }];
  return makeSnippets({ ...address, body: { model: id, messages, max_tokens: 200 } });
}
