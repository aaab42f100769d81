import assert from "node:assert/strict";
import { test } from "node:test";
import { UsageError } from "@tollgate/terminal/errors.ts";
import { parseCommandInput } from "@tollgate/terminal/parse-command-line.ts";
import { parseUpFlags, type StoredSettings, UP_FLAGS } from "./flags.ts";

type Rest = Parameters<typeof parseUpFlags> extends [unknown, ...infer Others] ? Others : never;
const parse = (args: string[], ...rest: Rest) =>
  parseUpFlags(parseCommandInput("up", { help: "", flags: UP_FLAGS }, args), ...rest);

const TOKEN = "tht_live_abc_def";
const good = ["--gateway", "http://127.0.0.1:8080", "--token", TOKEN, "--name", "box"];

test("the flags of tollgate-host up have defaults, except for the required flags", () => {
  assert.deepEqual(parse(good, {}), {
    gateway: "http://127.0.0.1:8080",
    token: TOKEN,
    identity: { name: "box" },
    engine: "auto",
    engineUrl: undefined,
    engineKey: undefined,
    map: new Map(),
    models: undefined,
    slots: undefined,
    settled: false,
    setAside: undefined,
    demoFallback: false,
    logLevel: "warn",
    json: false,
  });
});

test("flags set every option of tollgate-host up", () => {
  const args = ["--gateway", "https://gw.example", "--node", "node_1", "--engine", "openai", "--slots", "3"];
  args.push("--engine-url", "http://h:1/v1", "--map", "tiny-3b=llama3.2:3b, embed-m3=bge=m3", "--models", "a, b,a");
  const flags = parse([...args, "--log-level", "debug"], {
    TOLLGATE_HOST_TOKEN: TOKEN,
    TOLLGATE_ENGINE_KEY: "k",
  });
  assert.deepEqual(flags.identity, { id: "node_1" });
  assert.deepEqual(
    [...flags.map],
    [
      ["tiny-3b", "llama3.2:3b"],
      ["embed-m3", "bge=m3"],
    ],
  );
  assert.deepEqual(flags.models, ["a", "b"]);
  assert.deepEqual([flags.token, flags.engineKey, flags.slots, flags.logLevel], [TOKEN, "k", 3, "debug"]);
});

const mistakes: [name: string, args: string[], flag: RegExp][] = [
  ["no token", ["--gateway", "http://h", "--name", "x"], /^--token is missing/],
  ["an API key as token", [...good, "--token", "tsk_live_a_b"], /^--token .*tht_live_/],
  ["no gateway", good.slice(2), /^--gateway is missing/],
  ["a gateway that is not an address", [...good, "--gateway", "localhost:8080"], /^--gateway/],
  ["no name", good.slice(0, 4), /^--name/],
  ["an empty name", [...good, "--name", " "], /^--name/],
  ["name and node", [...good, "--node", "node_1"], /^--node and --name/],
  ["an invalid node ID", [...good.slice(0, 4), "--node", "box"], /^--node/],
  ["an unknown engine", [...good, "--engine", "magic"], /^--engine must be one of auto, demo, scripted, openai/],
  ["openai without an address", [...good, "--engine", "openai"], /--engine-url/],
  ["an invalid engine address", [...good, "--engine", "openai", "--engine-url", "here"], /^--engine-url/],
  ["an engine address for another engine", [...good, "--engine-url", "http://h"], /^--engine-url needs/],
  ["a map for another engine", [...good, "--map", "a=b"], /^--map needs/],
  ["an invalid map", [...good, "--engine", "openai", "--engine-url", "http://h", "--map", "a,b"], /^--map/],
  ["an empty model", [...good, "--models", "a,,b"], /^--models/],
  ["zero slots", [...good, "--slots", "0"], /^--slots/],
  ["a fractional number of slots", [...good, "--slots", "1.5"], /^--slots/],
  ["an unknown log level", [...good, "--log-level", "loud"], /^--log-level/],
  ["a model without its file", [...good, "--as", "tiny-3b"], /^--as needs --model FILE.gguf/],
  ["a model file and an engine", [...good, "--model", "m", "--as", "a", "--engine", "demo"], /^--model and --engine/],
  ["an unknown flag", [...good, "--fast"], /--fast/],
  ["a flag without its value", [...good, "--slots"], /--slots/],
  ["an unexpected word", [...good, "now"], /now/],
];
for (const [name, args, flag] of mistakes) {
  test(`the error for ${name} names the flag in one line`, () => {
    assert.throws(
      () => parse(args, {}),
      (error) => {
        assert.ok(error instanceof UsageError);
        assert.match(error.mistakes[0] ?? "", flag);
        for (const mistake of error.mistakes) assert.doesNotMatch(mistake, /\n|\.$/);
        return true;
      },
    );
  });
}

test("all mistakes in the flags are reported at once", () => {
  assert.throws(
    () => parse(["--slots", "x", "--map", "y"], {}),
    (error) => error instanceof UsageError && error.mistakes.length === 6,
  );
});

const login: StoredSettings = {
  gateway: "https://gateway.example",
  token: "tht_live_stored_secret",
  node: { id: "node_1" },
  serving: {
    engine: "openai",
    engineUrl: "http://127.0.0.1:8000",
    engineKey: "k",
    map: new Map([["tiny-3b", "m"]]),
    models: ["tiny-3b"],
    slots: 2,
  },
};

test("tollgate-host up needs no flags after login and elect, and then does not use the demo model", () => {
  const { gateway, token, identity, engine, models, slots, demoFallback, settled } = parse([], {}, login);
  assert.deepEqual([gateway, token, identity], ["https://gateway.example", "tht_live_stored_secret", { id: "node_1" }]);
  assert.deepEqual([engine, models, slots, demoFallback, settled], ["openai", ["tiny-3b"], 2, false, true]);
});

test("flags override stored values, and naming an engine replaces all stored engine settings", () => {
  const changed = parse(["--models", "mid-14b", "--slots", "7", "--name", "box"], {}, login);
  assert.deepEqual([changed.models, changed.slots, changed.identity], [["mid-14b"], 7, { name: "box" }]);
  assert.equal(changed.engineUrl, "http://127.0.0.1:8000");
  const other = parse(["--engine", "demo"], {}, login);
  assert.deepEqual([other.engine, other.engineUrl, other.models, other.settled], ["demo", undefined, undefined, false]);
  const file = parse(["--model", "m.gguf", "--as", "tiny-3b"], {}, login);
  assert.deepEqual([file.engine, file.modelFile, file.modelAs], ["auto", "m.gguf", "tiny-3b"]);
});

test("tollgate-host up ignores stored values of another gateway", () => {
  const flags = parse(["--gateway", "http://other", "--name", "box"], { TOLLGATE_HOST_TOKEN: TOKEN }, login);
  assert.deepEqual(
    [flags.gateway, flags.token, flags.identity, flags.engine, flags.models, flags.demoFallback],
    ["http://other", TOKEN, { name: "box" }, "auto", undefined, false],
  );
});

test("the demo model replaces a missing engine only with --demo-fallback, and only if no engine is named", () => {
  assert.equal(parse([...good, "--demo-fallback"], {}).demoFallback, true);
  assert.throws(() => parse([...good, "--engine", "scripted", "--demo-fallback"], {}), {
    message: "--demo-fallback needs --engine auto",
  });
});

test("without a node and chosen models, the error names the missing flags and the command tollgate-host elect", () => {
  assert.throws(
    () => parse([], {}, { ...login, node: undefined, serving: undefined }),
    (error) => {
      assert.ok(error instanceof UsageError);
      assert.match(error.mistakes.join("\n"), /--name.*\n--models is missing: .*tollgate-host elect/);
      return true;
    },
  );
});
