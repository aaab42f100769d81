/** Adds a node: lists the commands in order, and ticks each one when the platform has seen its effect. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { hostMoneyQuery } from "../../../data/earnings.ts";
import { hostTokensQuery, nodesQuery } from "../../../data/host-nodes-and-tokens.ts";
import { useChosenAccount, usePermissions } from "../../../data/signed-in-session.ts";
import { CreateSecretForm } from "../../../secrets/create-secret.tsx";
import { clearStashedSecret, stashSecret, useStashedSecret } from "../../../secrets/stashed-secret.ts";
import { RoleNote } from "../../../team/role-note.tsx";
import { buttonClasses } from "../../../ui/button.tsx";
import { Card, PageHeader } from "../../../ui/card.tsx";
import { TextField } from "../../../ui/form-fields.tsx";
import { DataAge } from "../../../ui/loading-states.tsx";
import { MoneyText } from "../../../ui/money-text.tsx";
import { Notice } from "../../../ui/notice.tsx";
import { SecretText } from "../../../ui/secret-text.tsx";
import { SegmentedChoice } from "../../../ui/segmented-choice.tsx";
import { ShellCommand } from "../../../ui/shell-command.tsx";
import { Step, Steps } from "../../../ui/steps.tsx";
import { BackToNodes } from "../back-to-nodes.tsx";
import { HOST_TOKEN_KIND } from "../tokens/host-tokens.ts";
import { buildSetupCommands, ENGINE_CHOICES, type EngineChoice } from "./setup-commands.ts";
import { useSetupProgress } from "./setup-progress.ts";

/** A short refresh interval, because the user waits for the next step. */
const LOOK_AGAIN_MS = 2_000;

export function AddNodePage() {
  const may = usePermissions("host");
  const of = `${useChosenAccount("host")?.id} token`;
  const secret = useStashedSecret(of);
  const [name, setName] = useState("garage");
  const [engine, setEngine] = useState<EngineChoice>("found");
  const { data: nodes } = useQuery({ ...nodesQuery, refetchInterval: LOOK_AGAIN_MS });
  const { data: tokens } = useQuery({ ...hostTokensQuery, refetchInterval: LOOK_AGAIN_MS });
  const { node, loggedIn, elected, online } = useSetupProgress({ nodes: nodes?.data, tokens: tokens?.data, secret });
  const commands = buildSetupCommands({ gateway: location.origin, name: name.trim(), engine, secret });
  // The node is online, so its machine has stored the token and the page discards the secret.
  useEffect(() => {
    if (online) clearStashedSecret(of);
  }, [online, of]);
  const done = [secret !== undefined || loggedIn, loggedIn || node !== undefined, node !== undefined, elected, online];
  const current = done.indexOf(false);
  const step = (place: number) => ({ number: place + 1, done: done[place] === true, current: current === place });
  return (
    <>
      <BackToNodes />
      <PageHeader
        title="Add a node"
        about={
          <>
            Run these commands on the machine that will serve models. In a clone of the Tollgate repository, use{" "}
            <code className="font-mono whitespace-nowrap">npx tollgate-host</code> in place of{" "}
            <code className="font-mono whitespace-nowrap">tollgate-host</code>. The agent only makes outbound
            connections, so you do not have to open a port.
          </>
        }
      />
      <Card>
        <Steps>
          <Step {...step(0)} title="Create a host token">
            <RoleNote kind="host" need="work" />
            {!may("work") ? null : secret === undefined ? (
              <div className="max-w-xs">
                <CreateSecretForm kind={HOST_TOKEN_KIND} onCreated={(text) => stashSecret(of, text)} />
              </div>
            ) : (
              <>
                <p className="text-ink-soft">
                  The commands below contain the token until the node is online. After that, it is not shown again.
                </p>
                <SecretText text={secret} noun="token" />
                <p className="text-ink-soft">
                  All steps in one line, to paste on the machine. The line uses the name and the engine that you choose
                  below. Your shell's history may keep the token.
                </p>
                <ShellCommand text={commands.whole} label="the whole command" />
              </>
            )}
          </Step>
          <Step {...step(1)} title="Log in">
            <ShellCommand text={commands.login} label="the login command" />
            <p className="text-ink-soft">
              Paste the token when asked. Input is hidden, and the token is stored in a file that only you can read.
            </p>
          </Step>
          <Step {...step(2)} title="Register the machine">
            <TextField
              label="Node name"
              value={name}
              onChange={({ target }) => setName(target.value)}
              maxLength={200}
              autoComplete="off"
              className="max-w-xs"
            />
            <ShellCommand text={commands.register} label="the register command" />
          </Step>
          <Step {...step(3)} title="Choose models">
            <div className="flex flex-wrap">
              <SegmentedChoice label="Engine" value={engine} options={ENGINE_CHOICES} onChange={setEngine} />
            </div>
            <p className="text-ink-soft">
              <code className="font-mono text-xs">elect</code> chooses the models that the node serves.{" "}
              {ENGINE_CHOICES.find(({ value }) => value === engine)?.says}
            </p>
            <ShellCommand text={commands.elect} label="the elect command" />
          </Step>
          <Step {...step(4)} title="Check and serve">
            <ShellCommand text={`${commands.doctor}\n${commands.up}`} label="the commands to check and serve" />
            <p className="text-ink-soft">
              To keep the agent running after you log out: <code className="font-mono text-xs">{commands.service}</code>
            </p>
            <div role="status">
              {online && node !== undefined ? (
                <Notice
                  tone="good"
                  title={`${node.name} is online`}
                  action={
                    <Link to="/host/nodes/$id" params={{ id: node.id }} className={buttonClasses("plain", "small")}>
                      Open {node.name}
                    </Link>
                  }
                >
                  The node is accepting requests. <FirstEarning node={node.id} />
                </Notice>
              ) : (
                <p className="flex items-center gap-2 text-ink-soft">
                  <span aria-hidden className="size-2 animate-breathe rounded-full bg-accent" />
                  {node === undefined
                    ? "Waiting for the machine to register…"
                    : `Waiting for ${node.name} to come online…`}
                </p>
              )}
            </div>
          </Step>
        </Steps>
      </Card>
    </>
  );
}

function FirstEarning({ node }: { node: string }) {
  const earnings = useQuery({ ...hostMoneyQuery, refetchInterval: LOOK_AGAIN_MS });
  const newest = earnings.data?.data.find((line) => line.node === node);
  if (newest === undefined) return "The node's first earning will appear here.";
  return (
    <>
      It has earned <MoneyText of={newest.earned_micro} />. <DataAge query={earnings} />{" "}
      <Link to="/host/earnings" className="font-medium underline underline-offset-2">
        View earnings
      </Link>
    </>
  );
}
