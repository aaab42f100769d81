/** Talking to a model: streamed, with its tokens and its cost, and as code to take away. */
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Code, Eraser } from "lucide-react";
import { useState } from "react";
import type { Rate } from "../../api/types.ts";
import { ratesQuery } from "../../data/models.ts";
import { useActing } from "../../data/session.ts";
import { Button } from "../../ui/button.tsx";
import { PageHeader } from "../../ui/card.tsx";
import { Loaded } from "../../ui/states.tsx";
import { AsCodeDialog } from "./as-code.tsx";
import { Composer } from "./composer.tsx";
import { Conversation } from "./conversation.tsx";
import { KeyBar, KeyGate } from "./key-gate.tsx";
import { usePlaygroundKey } from "./playground-key.ts";
import { FIRST_SETTINGS, readParameters, type Settings } from "./settings.ts";
import { SettingsPanel } from "./settings-panel.tsx";
import { useChat } from "./use-chat.ts";

export function PlaygroundPage() {
  const rates = useQuery(ratesQuery);
  if (rates.data === undefined) {
    return (
      <>
        <PageHeader title="Playground" />
        <Loaded query={rates}>{() => null}</Loaded>
      </>
    );
  }
  const models = rates.data.data.filter(
    ({ status, price_out_micro_1m }) => status === "active" && price_out_micro_1m !== null,
  );
  return <Playground models={models} />;
}

function Playground({ models }: { models: Rate[] }) {
  const { model: wanted } = useSearch({ from: "/app/playground" });
  const navigate = useNavigate({ from: "/playground" });
  const account = useActing("builder");
  const [apiKey, setApiKey] = usePlaygroundKey(account?.id ?? "");
  const [kept, setKept] = useState<Omit<Settings, "model">>(FIRST_SETTINGS);
  const [draft, setDraft] = useState("");
  const [asCode, setAsCode] = useState(false);
  const chat = useChat();
  const model = models.find(({ sku_id }) => sku_id === wanted) ?? models[0];
  if (model === undefined) return <PageHeader title="Playground" about="No models are available at the moment." />;
  const settings: Settings = { ...kept, model: model.sku_id };
  const { problems } = readParameters(settings);
  const change = ({ model: next, ...rest }: Settings): void => {
    setKept(rest);
    if (next !== model.sku_id) void navigate({ search: { model: next }, replace: true });
  };
  const send = (key: string): void => {
    chat.send(draft, settings, key);
    setDraft("");
  };
  return (
    <>
      <PageHeader
        title="Playground"
        about="Requests are billed to your credit and listed in your history. Prompts and answers are not stored."
        actions={
          <>
            <Button onClick={chat.clear} disabled={chat.exchanges.length === 0}>
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
      <div className="grid items-start gap-5 lg:grid-cols-[minmax(0,1fr)_20rem]">
        <section aria-label="Conversation" className="flex min-w-0 flex-col rounded-lg border border-line bg-surface">
          {apiKey === undefined ? (
            <KeyGate onKey={setApiKey} />
          ) : (
            <>
              <KeyBar apiKey={apiKey} onForget={() => setApiKey(undefined)} />
              <Conversation exchanges={chat.exchanges} models={models} />
              <Composer
                draft={draft}
                onDraft={setDraft}
                onSend={() => send(apiKey)}
                chat={chat}
                settings={settings}
                model={model}
                blocked={Object.keys(problems).length > 0}
              />
            </>
          )}
        </section>
        <SettingsPanel settings={settings} models={models} problems={problems} onChange={change} />
      </div>
      <AsCodeDialog
        open={asCode}
        onClose={() => setAsCode(false)}
        {...{ settings, draft, exchanges: chat.exchanges }}
      />
    </>
  );
}
