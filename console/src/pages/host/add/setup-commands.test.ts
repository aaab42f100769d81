import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { buildSetupCommands, quoteShellWord } from "./setup-commands.ts";

test("quotes a node's name as one shell word, whatever it contains", () => {
  for (const name of ["garage", "my box", "it's; rm -rf $HOME", "a`b`", 'with "quotes"']) {
    assert.equal(execFileSync("sh", ["-c", `printf %s ${quoteShellWord(name)}`], { encoding: "utf8" }), name);
  }
  assert.equal(quoteShellWord(""), "garage");
});

test("includes this platform's address and the node's name in the commands", () => {
  const wanted = { gateway: "https://tollgate.example", name: "my box", engine: "demo" } as const;
  const { login, register, elect } = buildSetupCommands(wanted);
  assert.equal(login, "tollgate-host login --gateway https://tollgate.example");
  assert.equal(register, "tollgate-host register --name 'my box'");
  assert.equal(elect, "tollgate-host elect --engine demo --models tiny-3b");
});

test("the one-line command logs in with the token, registers the node, elects (chooses) its models and serves", () => {
  const wanted = {
    gateway: "https://tollgate.example",
    name: "garage",
    engine: "found",
    secret: "tht_live_a_b",
  } as const;
  assert.equal(
    buildSetupCommands(wanted).whole,
    "TOLLGATE_HOST_TOKEN=tht_live_a_b tollgate-host login --gateway https://tollgate.example && " +
      "tollgate-host register --name garage && tollgate-host elect --yes && tollgate-host up",
  );
  assert.doesNotMatch(buildSetupCommands({ ...wanted, secret: undefined }).whole, /TOKEN/);
});
