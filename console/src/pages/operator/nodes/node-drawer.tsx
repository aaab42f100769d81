/** The details of one node for operators: load, reasons why it gets no requests, and actions. */
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { PlatformNodeDetail } from "../../../api/answer-types.ts";
import {
  platformNodeChecksQuery,
  platformNodeQuery,
  useAllowNodeToServe,
  useQuarantineNode,
  useReleaseNodeFromQuarantine,
} from "../../../data/platform-nodes.ts";
import { MachineDetails } from "../../../nodes/machine-details.tsx";
import { explainNodeState, NodeState } from "../../../nodes/node-state.tsx";
import { QuarantineNotice } from "../../../nodes/quarantine-notice.tsx";
import { SpotCheckTable } from "../../../nodes/spot-check-table.tsx";
import { TrustNotice } from "../../../nodes/trust-notice.tsx";
import { Button } from "../../../ui/button.tsx";
import { ConfirmDialog } from "../../../ui/dialog.tsx";
import { Drawer, DrawerSection, IdLine, Property, PropertyList } from "../../../ui/drawer.tsx";
import { LoadedQuery } from "../../../ui/loading-states.tsx";
import { Meter } from "../../../ui/meter.tsx";
import { MoneyText } from "../../../ui/money-text.tsx";
import { CountText, DurationText } from "../../../ui/time-text.tsx";
import { toast, toastError } from "../../../ui/toast.tsx";
import { ReasonDialog } from "../reason-dialog.tsx";

interface Props {
  id: string | undefined;
  onClose: () => void;
  /** Called to show all nodes of this host. */
  onHost: (accountId: string) => void;
}

export function NodeDrawer({ id, onClose, onHost }: Props) {
  const node = useQuery({ ...platformNodeQuery(id ?? ""), enabled: id !== undefined });
  return (
    <Drawer open={id !== undefined} onClose={onClose} title={node.data?.name ?? "Node"}>
      <LoadedQuery query={node}>{(found) => <Details node={found} onHost={onHost} />}</LoadedQuery>
    </Drawer>
  );
}

function Details({ node, onHost }: { node: PlatformNodeDetail } & Pick<Props, "onHost">) {
  const { id, name, account, account_name, state, quarantine, stats } = node;
  const checks = useInfiniteQuery(platformNodeChecksQuery(id));
  return (
    <div className="flex flex-col gap-6">
      <div>
        <IdLine id={id} of="node" />
        <p role="status" className="mt-2 flex flex-wrap items-center gap-2">
          <NodeState of={state} />
          <span className="text-ink-soft">{explainNodeState(state)}</span>
        </p>
      </div>
      {quarantine !== null && state === "quarantined" && <QuarantineNotice name={name} quarantine={quarantine} />}
      <TrustNotice node={node} action={node.withheld !== null && <Clear node={node} />} />
      <QuarantineActions node={node} />
      <DrawerSection title="Load">
        <PropertyList>
          <Property name="Slots">
            {stats.connected ? (
              <Meter label="Slots" value={stats.busy} max={stats.slots} word="busy" />
            ) : (
              "not connected"
            )}
          </Property>
          <Property name="Today">
            <CountText of={stats.today.requests} /> {stats.today.requests === 1 ? "request" : "requests"},{" "}
            <MoneyText of={stats.today.earned_micro} as="balance" /> earned
          </Property>
          <Property name="Failures">
            {stats.reliability.jobs === 0
              ? "no jobs yet"
              : `${stats.reliability.failures} in the last ${stats.reliability.jobs} jobs`}
          </Property>
          <Property name="Last 24 hours">
            <CountText of={stats.last_day.answers} /> answered well, <CountText of={stats.last_day.failures} /> failed,{" "}
            <CountText of={stats.last_day.silences} /> silent, <CountText of={stats.last_day.refusals} /> refused,{" "}
            <CountText of={stats.last_day.late_acceptances} /> accepted late
          </Property>
          <Property name="Money">
            <Link
              to="/operator/payouts"
              search={{ node: id }}
              hash="withheld"
              className="text-accent underline-offset-2 hover:underline"
            >
              Withheld shares
            </Link>
          </Property>
          <Property name="Host">
            <Link
              to="/operator/accounts"
              search={{ account }}
              className="break-words text-accent underline-offset-2 hover:underline"
            >
              {account_name}
            </Link>
            <code className="block font-mono text-xs break-all text-ink-soft">{account}</code>
            <Button size="small" className="mt-1.5" onClick={() => onHost(account)}>
              All nodes of this host
            </Button>
          </Property>
        </PropertyList>
      </DrawerSection>
      <DrawerSection title="Models">
        {stats.models.length === 0 ? (
          <p className="text-ink-soft">No models chosen.</p>
        ) : (
          <PropertyList>
            {stats.models.map(({ model, ttft_p50_ms, tps_p50 }) => (
              <Property key={model} name={model}>
                {ttft_p50_ms === null && (stats.connected ? "not measured yet" : "–")}
                {ttft_p50_ms !== null && (
                  <>
                    first token <DurationText ms={ttft_p50_ms} />
                    {tps_p50 !== null && (
                      <>
                        , <CountText of={Math.round(tps_p50)} /> tokens/s
                      </>
                    )}
                  </>
                )}
              </Property>
            ))}
          </PropertyList>
        )}
      </DrawerSection>
      <DrawerSection title="Machine">
        <MachineDetails node={node} />
      </DrawerSection>
      <DrawerSection title="Spot checks">
        {node.unusual_lengths.map(({ model, compared, ranks: [shortest, , , longest] }) => (
          <p key={model} className="mb-2 text-warn">
            Answers of {model} have unusual lengths. Among {compared} answers that were compared with answers of three
            other nodes, {shortest} were the shortest and {longest} the longest.
          </p>
        ))}
        <SpotCheckTable query={checks} />
      </DrawerSection>
    </div>
  );
}

/** The button that lets a node work again after it was withheld because another node of its host was quarantined. */
function Clear({ node: { id, name } }: { node: PlatformNodeDetail }) {
  const clear = useAllowNodeToServe(id);
  // Shows the notice when the promise resolves, because the button disappears once the node is cleared.
  const lift = () => void clear.mutateAsync().then(() => toast(`${name} is cleared`), toastError);
  return (
    <Button size="small" busy={clear.isPending} onClick={lift}>
      Clear node
    </Button>
  );
}

function QuarantineActions({ node: { id, name, state } }: { node: PlatformNodeDetail }) {
  const [asking, setAsking] = useState(false);
  const quarantine = useQuarantineNode(id);
  const release = useReleaseNodeFromQuarantine(id);
  const done = (said: string) => ({
    onSuccess: () => {
      setAsking(false);
      toast(said);
    },
  });
  if (state === "retired") return null;
  const held = state === "quarantined";
  return (
    <div>
      <Button look={held ? "primary" : "danger"} onClick={() => setAsking(true)}>
        {held ? "Release" : "Quarantine"}
      </Button>
      {asking && held && (
        <ConfirmDialog
          open
          onClose={() => setAsking(false)}
          title={`Release ${name}?`}
          action="Release"
          onConfirm={() => release.mutate(undefined, done(`${name} is released. Its host can resume it.`))}
          busy={release.isPending}
          error={release.error}
        >
          <p>The node stays paused until its host resumes it. Its measurements are reset.</p>
        </ConfirmDialog>
      )}
      {asking && !held && (
        <ReasonDialog
          title={`Quarantine ${name}?`}
          about="The node is disconnected immediately and receives no requests until it is released."
          hint="Shown to the host and recorded in the audit log."
          action="Quarantine"
          danger
          onClose={() => setAsking(false)}
          onSubmit={(reason) => quarantine.mutate(reason, done(`${name} is quarantined`))}
          busy={quarantine.isPending}
          error={quarantine.error}
        />
      )}
    </div>
  );
}
