/** The details of one request: timeline, token counts, cost and receipt. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { RequestRecord } from "../../api/answer-types.ts";
import { saveFile } from "../../api/api-client.ts";
import { requestQuery } from "../../data/requests.ts";
import { OutcomeBadge } from "../../requests/outcome-badge.tsx";
import { describeOutcome } from "../../requests/outcome-names.ts";
import { DrawerSection, IdLine, Property, PropertyList } from "../../ui/drawer.tsx";
import { LoadedQuery } from "../../ui/loading-states.tsx";
import { MoneyText } from "../../ui/money-text.tsx";
import { SaveButton } from "../../ui/save-button.tsx";
import { ShellCommand } from "../../ui/shell-command.tsx";
import { CountText, TimeText } from "../../ui/time-text.tsx";
import { AttemptList, type ShownAttempt } from "./attempt-list.tsx";
import { RequestTimeline } from "./request-timeline.tsx";

const ENDPOINTS: Record<RequestRecord["endpoint"], string> = {
  chat: "/v1/chat/completions",
  completion: "/v1/completions",
  embedding: "/v1/embeddings",
  models: "/v1/models",
};

export function RequestContent({ id }: { id: string | undefined }) {
  const request = useQuery({ ...requestQuery(id ?? ""), enabled: id !== undefined });
  return (
    <LoadedQuery query={request}>
      {(record) => (
        <RequestDetails request={record}>
          <Receipt id={record.id} />
        </RequestDetails>
      )}
    </LoadedQuery>
  );
}

/** `children`: further details. */
export function RequestDetails({
  request,
  children,
}: {
  request: RequestRecord & { attempt_list: ShownAttempt[] };
  children: ReactNode;
}) {
  const { id, outcome, usage } = request;
  return (
    <div className="flex flex-col gap-7">
      <div>
        <IdLine id={id} of="request" />
        <p className="mt-2 flex flex-wrap items-center gap-2">
          <OutcomeBadge of={outcome} />
          <span className="text-ink-soft">{describeOutcome(outcome).says}</span>
        </p>
      </div>
      <DrawerSection title="Timeline">
        <RequestTimeline request={request} />
        <AttemptList attempts={request.attempt_list} />
      </DrawerSection>
      <DrawerSection title="Cost">
        <Cost request={request} />
      </DrawerSection>
      <DrawerSection title="Tokens">
        <PropertyList>
          <Property name="Prompt">
            <CountText of={usage.prompt_tokens} />
          </Property>
          <Property name="Output">
            <CountText of={usage.completion_tokens} />
            {usage.reasoning_tokens > 0 && (
              <span className="text-ink-soft">
                {" "}
                including reasoning: <CountText of={usage.reasoning_tokens} />
              </span>
            )}
          </Property>
          <Property name="Tokenizer">
            <code className="font-mono text-xs break-all">{request.tokenizer ?? "–"}</code>
          </Property>
        </PropertyList>
      </DrawerSection>
      <DrawerSection title="Request">
        <PropertyList>
          <Property name="Model">{request.model ?? "–"}</Property>
          <Property name="Build">{request.build ?? "–"}</Property>
          <Property name="Endpoint">{ENDPOINTS[request.endpoint]}</Property>
          <Property name="Key">{request.key.name}</Property>
          {request.label !== null && <Property name="Label">{request.label}</Property>}
          <Property name="Response">
            {request.http_status}
            {request.stream && ", streamed"}
            {request.finish_reason !== null && `, ${request.finish_reason}`}
          </Property>
          {request.count > 1 && (
            <Property name="Requests">
              <CountText of={request.count} />
              <span className="text-ink-soft"> identical, stored as one record</span>
            </Property>
          )}
          <Property name="Attempts">
            <CountText of={request.attempts} />
          </Property>
          <Property name="Client">{request.client === "" ? "–" : request.client}</Property>
          <Property name="Finished">
            <TimeText at={request.finished_at} as="full" />
          </Property>
        </PropertyList>
      </DrawerSection>
      {children}
    </div>
  );
}

/** The amount held, the charge and the refund. */
function Cost({ request: { hold_micro, charge_micro, refund_micro, price_version } }: { request: RequestRecord }) {
  return (
    <>
      <dl className="divide-y divide-line rounded-md border border-line">
        <Line name="Held">
          <MoneyText of={hold_micro} exact />
        </Line>
        <Line name="Refunded">
          <MoneyText of={refund_micro} exact />
        </Line>
        <Line name="Charged" strong>
          <MoneyText of={charge_micro} exact />
        </Line>
      </dl>
      {price_version !== null && (
        <p className="mt-2 text-xs text-ink-soft">
          Price version {price_version}, the one in effect when the request started.
        </p>
      )}
    </>
  );
}

function Line({ name, strong = false, children }: { name: string; strong?: boolean; children: ReactNode }) {
  return (
    <div
      className={strong ? "flex justify-between gap-4 px-3 py-2 font-semibold" : "flex justify-between gap-4 px-3 py-2"}
    >
      <dt className={strong ? undefined : "text-ink-soft"}>{name}</dt>
      <dd className="text-right">{children}</dd>
    </div>
  );
}

function Receipt({ id }: { id: string }) {
  const file = `${id}.receipt.json`;
  return (
    <DrawerSection title="Receipt">
      <div className="flex flex-col items-start gap-3">
        <p className="text-ink-soft">Signed by the platform. Verify it with the published keys:</p>
        <ShellCommand
          text={`tollgate receipt verify ${file} --keys ${location.origin}/.well-known/tollgate-receipts`}
          label="the verify command"
        />
        <SaveButton save={() => saveFile(file, "GET /console/api/requests/{id}/receipt", { path: { id } })}>
          Download receipt
        </SaveButton>
      </div>
    </DrawerSection>
  );
}
