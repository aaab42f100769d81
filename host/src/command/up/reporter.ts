/** What `up` tells whoever watches. Adapters: screen-reporter.ts, plain-reporter.ts, json-reporter.ts. */
import type { AgentStatus } from "../../agent/agent.ts";
import type { AgentSnapshot } from "../../agent/snapshot.ts";
import type { Engine } from "../../engines/engine.ts";
import type { Log } from "../../log.ts";
import type { Stats } from "../gateway/answers.ts";

export interface Reporter {
  readonly log: Log;
  /** How often the gateway is asked how it sees the node. */
  readonly statsEveryMs: number;
  engine(engine: Engine): void;
  node(place: { node: string; gateway: string; models: string[] }): void;
  /** The agent is about to start; `snapshot` tells what it does, at any time. */
  serving(snapshot: () => AgentSnapshot): void;
  status(status: AgentStatus): void;
  /** How the gateway sees the node. */
  stats(stats: Stats): void;
  /** The gateway does not tell. */
  statsMissing(reason: Error): void;
  stopping(): void;
  stopped(): void;
  /** Nothing more will be told, for whatever reason. */
  close(): void;
}
