/**
 * What an engine is documented not to do, it must not do: the node may not announce it, so that no request for it reaches
 * the engine. One that has learnt it fails here, and the table gets better.
 */
import { expect, no, type Outcome } from "../outcome.ts";
import { Refused } from "../stage/builder.ts";
import type { Stage } from "../stage/stage.ts";
import { BEHAVIOURS } from "./behaviours.ts";
import type { BehaviourName } from "./names.ts";

export async function expectNot(stage: Stage, name: BehaviourName, reason: string): Promise<Outcome> {
  const documented = `documented as "${reason}"`;
  const refusal = await BEHAVIOURS[name](stage).then(
    () => undefined,
    (error: Error) => error,
  );
  expect(refusal !== undefined, `${documented}, and it works: the suite's list is behind`);
  const isForWantOfNode = refusal instanceof Refused && refusal.code === "no_capacity";
  expect(isForWantOfNode, `${documented}, so nobody should be asked; but ${refusal.message}`);
  // Embeddings were not elected: that the node does not offer them says nothing of the engine.
  if (name === "embeddings") expect(!(await embeds(stage)), `${documented}, and it does: the suite's list is behind`);
  return no(reason);
}

/** Whether the engine itself gives vectors, or the agent would elect its model for them. */
async function embeds({ engine, model, host, url }: Stage): Promise<boolean> {
  if (engine.start === undefined) {
    const { code } = await host.ask(["elect", ...engine.elect(model, url), "--models", "tiny-3b,embed-m3"]);
    return code === 0;
  }
  const list = (await (await fetch(`${url}/v1/models`)).json()) as { data: { id: string }[] };
  const response = await fetch(`${url}/v1/embeddings`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: list.data[0]?.id, input: ["a fox"] }),
  });
  return response.ok;
}
