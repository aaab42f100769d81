/**
 * Checks that a node does not announce a feature that its engine is documented not to support, so that no such request
 * reaches the engine. If a new engine version supports the feature, the check fails, and the table must be updated.
 */
import { type CheckOutcome, expectTrue, unsupportedOutcome } from "../outcome.ts";
import { RequestRefused } from "../stage/builder-client.ts";
import type { Stage } from "../stage/stage.ts";
import type { BehaviourName } from "./behaviour-names.ts";
import { BEHAVIOUR_CHECKS } from "./behaviours.ts";

export async function expectFeatureUnsupported(
  stage: Stage,
  name: BehaviourName,
  reason: string,
): Promise<CheckOutcome> {
  const documented = `documented as "${reason}"`;
  const refusal = await BEHAVIOUR_CHECKS[name](stage).then(
    () => undefined,
    (error: Error) => error,
  );
  expectTrue(refusal !== undefined, `${documented}, and it works: the suite's list is behind`);
  const isForWantOfNode = refusal instanceof RequestRefused && refusal.code === "no_capacity";
  expectTrue(isForWantOfNode, `${documented}, so nobody should be asked; but ${refusal.message}`);
  // Embeddings were not elected for this node, so the engine itself is checked for support.
  if (name === "embeddings")
    expectTrue(!(await embeds(stage)), `${documented}, and it does: the suite's list is behind`);
  return unsupportedOutcome(reason);
}

/**
 * Returns whether the engine supports embeddings: whether its server returns vectors or, for an engine inside the
 * agent, whether the agent accepts its model for embeddings.
 */
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
