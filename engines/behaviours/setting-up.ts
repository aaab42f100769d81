/** What a host does before the first request: log in, register, choose, ask the doctor, serve. */
import { expect, type Outcome, ok } from "../outcome.ts";
import type { Stage } from "../stage/stage.ts";

/** The engine is found, known for what it is, and its model is known for the catalogue's. */
export async function elect({ engine, model, platform, host, url }: Stage): Promise<Outcome> {
  const { base_url, host_token } = platform.ready;
  await host.run(["login", "--gateway", base_url, "--token", "-"], { input: host_token });
  await host.run(["register", "--name", engine.id]);
  const said = await host.run(["elect", "--yes", "--json", ...engine.elect(model, url)], {
    env: engine.env?.(url) ?? {},
  });
  const elected = JSON.parse(said) as { engine: string; models: string[] };
  expect(engine.known.test(elected.engine), `taken for ${elected.engine}`);
  const models = engine.vectorWidth === undefined ? ["tiny-3b"] : ["tiny-3b", "embed-m3"];
  expect(models.join() === elected.models.join(), `elected ${elected.models.join(", ")}, not ${models.join(", ")}`);
  return ok();
}

export async function doctor({ host }: Stage): Promise<Outcome> {
  const { checks } = JSON.parse(await host.run(["doctor", "--json"])) as {
    checks: { name: string; verdict: string }[];
  };
  const warned = checks.filter(({ verdict }) => verdict === "warn").map(({ name }) => name);
  return ok(warned.length === 0 ? undefined : `warns of ${[...new Set(warned)].join(", ")}`);
}

/** Without a flag and without what was in the environment at the election: a service has neither. */
export async function up(stage: Stage): Promise<Outcome> {
  const { engine, host, url } = stage;
  try {
    await host.up();
  } catch (error) {
    // The rest can be looked at all the same.
    await host.kill();
    stage.upEnv = engine.env?.(url) ?? {};
    await host.up(stage.upEnv);
    throw error;
  }
  const { slots } = JSON.parse(await host.run(["status", "--json"])) as { slots: number };
  expect(slots === engine.slots, `the node announces ${slots} slots, and the engine runs ${engine.slots} at once`);
  return ok(`${slots} slots`);
}
