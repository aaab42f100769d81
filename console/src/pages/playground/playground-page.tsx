/**
 * The playground: chats with one model, or with two side by side. Answers are streamed and shown with tokens and cost,
 * and requests can be copied as code.
 */
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState, useSyncExternalStore } from "react";
import type { Account, PriceSheetEntry } from "../../api/answer-types.ts";
import { liveModelsQuery } from "../../data/live-models.ts";
import { priceListQuery } from "../../data/price-list.ts";
import { useChosenAccount, useMe } from "../../data/signed-in-session.ts";
import { RoleNote } from "../../team/role-note.tsx";
import { Button } from "../../ui/button.tsx";
import { PageHeader } from "../../ui/card.tsx";
import { Code, Eraser } from "../../ui/icons.tsx";
import { LoadedQuery } from "../../ui/loading-states.tsx";
import { SegmentedChoice } from "../../ui/segmented-choice.tsx";
import { openChatStore } from "./chat-store.ts";
import { Conversation } from "./conversation.tsx";
import { CreditNotice } from "./credit-notice.tsx";
import { describeUnsupportedFormat } from "./format-fields.tsx";
import { MessageComposer } from "./message-composer.tsx";
import { listChosenModels, type PlaygroundSettings, parseRequestParameters } from "./playground-settings.ts";
import { SampleCodeDialog } from "./sample-code-dialog.tsx";
import { SettingsPanel } from "./settings-panel.tsx";

export function PlaygroundPage() {
  const rates = useQuery(priceListQuery);
  const account = useChosenAccount("builder");
  if (rates.data === undefined || account === undefined) {
    return (
      <>
        <PageHeader title="Playground" />
        <LoadedQuery query={rates}>{() => null}</LoadedQuery>
      </>
    );
  }
  const models = rates.data.data.filter(
    ({ status, price_out_micro_1m }) => status === "active" && price_out_micro_1m !== null,
  );
  return <Playground models={models} account={account} />;
}

const VIEWS = [
  { value: "markdown" as const, label: "Formatted" },
  { value: "text" as const, label: "Plain text" },
];

function Playground({ models, account }: { models: PriceSheetEntry[]; account: Account }) {
  const { model: wanted } = useSearch({ from: "/app/playground" });
  const navigate = useNavigate({ from: "/playground" });
  const { identity } = useMe();
  const store = openChatStore({ person: identity.id, account: account.id });
  const chat = useSyncExternalStore(store.subscribe, store.shown);
  const [asCode, setAsCode] = useState(false);
  const offered = (id: string | undefined): string | undefined => models.find(({ sku_id }) => sku_id === id)?.sku_id;
  const model = offered(wanted) ?? offered(chat.settings.model) ?? models[0]?.sku_id;
  const unable = useUnable(model === undefined ? [] : [model, chat.settings.other]);
  if (model === undefined) return <PageHeader title="Playground" about="No models are available at the moment." />;
  const settings: PlaygroundSettings = { ...chat.settings, model, other: offered(chat.settings.other) ?? "" };
  const { problems } = parseRequestParameters(settings);
  if (settings.format !== "text" && unable !== undefined && unable.length > 0) {
    problems.format = `Set the output format to Text: ${describeUnsupportedFormat(unable)}`;
  }
  // Without this permission, sending is blocked and a note says why, because the API would refuse the requests.
  const mayWork = account.may.includes("work");
  const blocked = !mayWork || Object.keys(problems).length > 0;
  const change = (next: PlaygroundSettings): void => {
    store.set({ settings: next });
    if (next.model !== model || wanted !== undefined) void navigate({ search: { model: next.model }, replace: true });
  };
  const canSend = !chat.running && !blocked;
  return (
    <>
      <PageHeader
        title="Playground"
        about="Requests are charged to your credit and listed under Requests. Prompts and answers are not stored on the server. The conversation stays in this tab until you close it or sign out."
        actions={
          <>
            <Button onClick={() => store.clear()} disabled={chat.exchanges.length === 0}>
              <Eraser aria-hidden className="size-4" />
              Clear
            </Button>
            <Button onClick={() => setAsCode(true)}>
              <Code aria-hidden className="size-4" />
              Copy as code
            </Button>
          </>
        }
      />
      <div className="grid grid-cols-1 items-start gap-5 lg:grid-cols-[minmax(0,1fr)_20rem]">
        <section aria-label="Conversation" className="flex min-w-0 flex-col rounded-lg border border-line bg-surface">
          <div className="flex flex-wrap items-center justify-between gap-3 border-b border-line py-1.5 pr-2 pl-4 text-xs text-ink-soft sm:pl-5">
            <span role="status" className="min-w-0">
              {chat.trouble ?? listChosenModels(settings).join(" and ")}
            </span>
            <SegmentedChoice
              label="Answer display"
              value={chat.view}
              options={VIEWS}
              onChange={(view) => store.set({ view })}
            />
          </div>
          <Conversation
            chat={chat}
            models={models}
            onEdit={canSend ? (id, question) => store.edit(id, question, settings) : undefined}
            onRegenerate={canSend ? () => store.regenerate(settings) : undefined}
          />
          <CreditNotice account={account.name} />
          {!mayWork && (
            <div className="px-4 pt-4 sm:px-5">
              <RoleNote kind="builder" need="work" />
            </div>
          )}
          <MessageComposer
            draft={chat.draft}
            onDraft={(draft) => store.set({ draft })}
            onSend={() => {
              store.send(chat.draft, settings);
              store.set({ draft: "" });
            }}
            onStop={() => store.stop()}
            {...{ running: chat.running, exchanges: chat.exchanges, settings, models, blocked }}
          />
        </section>
        <SettingsPanel person={identity.id} {...{ settings, models, problems, unable }} onChange={change} />
      </div>
      <SampleCodeDialog
        open={asCode}
        onClose={() => setAsCode(false)}
        {...{ settings, draft: chat.draft, exchanges: chat.exchanges }}
      />
    </>
  );
}

/** The chosen models without a node that supports output formats; undefined until loaded. */
function useUnable(chosen: string[]): string[] | undefined {
  const { data } = useQuery(liveModelsQuery);
  if (data === undefined) return undefined;
  const able = new Set(data.data.filter(({ structured_output }) => structured_output).map(({ id }) => id));
  return chosen.filter((id) => id !== "" && !able.has(id));
}
