/** A host's steps before the first request: login, registration, election (choosing models), doctor, serving. */
import { type CheckOutcome, expectTrue, okOutcome } from "../outcome.ts";
import type { Stage } from "../stage/stage.ts";

/** Checks that `elect` finds and recognizes the engine, and matches its model to the catalogue's. */
export async function checkElectCommand({
  engine,
  model,
  platform,
  hostToken,
  host,
  url,
}: Stage): Promise<CheckOutcome> {
  const [gateway_url, host_token] = [platform.baseUrl, hostToken];
  await host.run(["login", "--gateway", gateway_url, "--token", "-"], { input: host_token });
  await host.run(["register", "--name", engine.id]);
  const said = await host.run(["elect", "--yes", "--json", ...engine.elect(model, url)], {
    env: engine.env?.(url) ?? {},
  });
  const elected = JSON.parse(said) as { engine: string; models: string[] };
  expectTrue(engine.known.test(elected.engine), `taken for ${elected.engine}`);
  const models = engine.embeds === undefined ? ["tiny-3b"] : ["tiny-3b", engine.embeds.model];
  expectTrue(models.join() === elected.models.join(), `elected ${elected.models.join(", ")}, not ${models.join(", ")}`);
  return okOutcome();
}

export async function checkDoctorCommand({ host }: Stage): Promise<CheckOutcome> {
  const { out } = await host.ask(["doctor", "--json"]);
  const { checks } = JSON.parse(out) as { checks: { name: string; verdict: string; detail: string }[] };
  const found = (wanted: string) => checks.filter(({ verdict }) => verdict === wanted);
  const wrong = found("fail").map(({ name, detail }) => `${name}: ${detail}`);
  expectTrue(wrong.length === 0, wrong.join("; "));
  const warned = new Set(found("warn").map(({ name }) => name));
  return okOutcome(warned.size === 0 ? undefined : `warns of ${[...warned].join(", ")}`);
}

/**
 * Starts the agent without flags and without the environment variables of `elect`, because a system service has
 * neither.
 */
export async function checkUpCommand(stage: Stage): Promise<CheckOutcome> {
  const { engine, host, url } = stage;
  try {
    await host.up();
  } catch (error) {
    // Restarts the agent with the environment variables that `elect` got, so that the other behaviors can still be
    // checked.
    await host.kill();
    stage.upEnv = engine.env?.(url) ?? {};
    await host.up(stage.upEnv);
    throw error;
  }
  const { slots } = JSON.parse(await host.run(["status", "--json"])) as { slots: number };
  expectTrue(slots === engine.slots, `the node announces ${slots} slots, and the engine runs ${engine.slots} at once`);
  return okOutcome(slots === 1 ? "1 slot" : `${slots} slots`);
}
