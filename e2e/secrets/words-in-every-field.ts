/** A node and a person send a unique word in every field that they can fill. */
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { connect } from "node:net";
import { before, test } from "node:test";
import { sendUserMessage } from "@tollgate/stage/builder-requests.ts";
import { type Behaviour, callNodeApi, encodeStateFrame, HandMadeNode } from "@tollgate/stage/nodes/hand-made-node.ts";
import { RawNode } from "@tollgate/stage/nodes/raw-node.ts";
import { eventually, failIfHung } from "@tollgate/stage/wait.ts";
import { nodeStateSubject } from "../../protocol/src/nats-subjects.ts";
import { ConsoleClient } from "../console-client.ts";
import { makeInvalidConsoleForms, makeNodesThatSendWord } from "./inputs-with-markers.ts";
import { makeLeakMarker, makeScriptPrompt, type SecretsPlatform } from "./leak-test-platform.ts";

export function testWordsInEveryField(open: () => SecretsPlatform): void {
  let rig: SecretsPlatform;
  before(() => {
    rig = open();
  });

  test("a node sends unique words, which must not leak, in every field of its registration and in every kind of frame", async () => {
    const behaviours = makeNodesThatSendWord(makeLeakMarker);
    let next = 0;
    const node = await HandMadeNode.join(rig.stage, rig.host, {
      name: makeLeakMarker("a node's name"),
      hardware: { [makeLeakMarker("a hardware's field")]: makeLeakMarker("a hardware's value") },
      agent: makeLeakMarker("an agent's name"),
      models: ["small-8b"],
      behaviour: (job) => (behaviours[next++ % behaviours.length] as Behaviour)(job),
    });
    for (let i = 0; i < behaviours.length + 2; i++) {
      await rig.chat(makeLeakMarker("a prompt that comes back"), { model: "small-8b", stream: i % 2 === 0 });
    }
    for (const json of [
      `{"${makeLeakMarker("a state cut off")}`,
      `{"protocol":"${makeLeakMarker("a protocol")}"}`,
      makeLeakMarker("a state that is no JSON"),
    ]) {
      node.line.publish(nodeStateSubject(node.id), Buffer.concat([Buffer.of(1, 23), Buffer.from(json)]));
    }
    node.line.publish(
      nodeStateSubject(node.id),
      encodeStateFrame({ agent: makeLeakMarker("an agent"), models: ["small-8b", makeLeakMarker("a model")] }),
    );
    node.line.publish(
      `tg.g.${makeLeakMarker("a gateway")}.${node.id}`,
      Buffer.from(makeLeakMarker("a frame to nobody")),
    );
    await node.line.flush();
    await node.leave();
    const raw = await RawNode.join(rig.stage, rig.host, { name: "raw", models: ["small-8b"] });
    for (const text of [
      `${makeLeakMarker("an operation")}\r\n`,
      `PUB tg.s.${makeLeakMarker("a subject")} 1\r\nx\r\n`,
      `SUB ${makeLeakMarker("a subscription")} 1\r\n`,
    ]) {
      assert.equal(await raw.connect(), true);
      await raw.say(Buffer.from(text));
      // Waits until the plane has read the bytes, or has cut the connection because of them.
      await failIfHung("the plane hears or cuts", raw.heardOut());
      raw.leave();
    }
    const stranger = connect(Number(new URL(raw.credentials.url).port), "127.0.0.1");
    stranger.on("error", () => {});
    stranger.write(
      `CONNECT ${JSON.stringify({ jwt: makeLeakMarker("a JWT"), sig: makeLeakMarker("a signature"), name: makeLeakMarker("a client") })}\r\n`,
    );
    await new Promise((resolve) => stranger.once("close", resolve).resume());
    for (const [path, body] of [
      [`/nodes/${node.id}/try`, { model: "small-8b", prompt: makeLeakMarker("a host's own prompt") }],
      [`/nodes/${node.id}/try`, { model: makeLeakMarker("a host's model") }],
      ["/nodes", { name: { x: makeLeakMarker("a name that is none") } }],
    ] as const) {
      await callNodeApi(rig.stage, rig.host.token, "POST", path, body);
    }
    await callNodeApi(rig.stage, rig.host.token, "PUT", `/nodes/${node.id}/elections`, {
      models: [makeLeakMarker("an election")],
    });
  });

  test("a person sends unique words, which must not leak, in every field of the console and of webhooks", async () => {
    await rig.forgetAttempts();
    const client = new ConsoleClient(rig.platform);
    const password = makeLeakMarker("a password");
    const email = `${makeLeakMarker("an e-mail address")}@example.test`;
    await client.send("POST", "auth/sign-up/email", {
      email,
      password,
      name: makeLeakMarker("a person's name"),
    });
    await client.send("POST", "auth/verify-email", { token: await rig.mailedToken() });
    await client.ask("POST", "auth/sign-in/email", {
      email: `${makeLeakMarker("an unknown address")}@example.test`,
      password: makeLeakMarker("a wrong password"),
    });
    await client.signIn({ email, password });
    await client.send("POST", "accounts", { kind: "builder", name: makeLeakMarker("an account's name") });
    await client.send("POST", "accounts", { kind: "host", name: "Farm" });
    await client.send("POST", "host-tokens", { name: makeLeakMarker("a token's name") });
    const { secret } = await client.send<{ secret: string }>("POST", "keys", {
      name: makeLeakMarker("a key's name"),
    });
    // Uses the key while its account has no credit: with credit, a record would store the key's name.
    await rig.call("/v1/models", { headers: { authorization: `Bearer ${secret}` } });
    const [owned] = await rig.stage.query<{ id: string }>(
      "select account_id as id from api_key where name like 'marker%' order by created_at desc limit 1",
    );
    await rig.stage.query("select ledger_transfer(gen_random_uuid(), 'grant', $1, 1000000000, 'test')", [owned?.id]);
    await eventually(
      "the key works",
      async () =>
        (
          await sendUserMessage(rig.stage, secret, {
            model: "tiny-3b",
            prompt: makeScriptPrompt({ text: "x" }),
            max_tokens: 5,
          })
        ).status === 200,
    );
    for (const [method, path, body] of makeInvalidConsoleForms(makeLeakMarker)) {
      await client.ask(method, path, body);
    }
    await rig.call("/console/api/keys", {
      method: "POST",
      headers: { cookie: client.cookie, origin: `http://${makeLeakMarker("an origin")}.test` },
      body: "{}",
    });
    const event = (type: string): string =>
      JSON.stringify({
        id: "evt_1",
        object: "event",
        type,
        created: 1,
        data: { object: { metadata: { x: makeLeakMarker("an event") } } },
      });
    for (const body of [event("a.b"), event("checkout.session.completed"), makeLeakMarker("an event that is none")]) {
      const at = Math.floor(Date.now() / 1000);
      const signature = createHmac("sha256", rig.demo.webhookSecret).update(`${at}.${body}`).digest("hex");
      for (const signed of [`t=${at},v1=${signature}`, `t=${at},v1=${makeLeakMarker("a forged signature")}`]) {
        await rig.call("/webhooks/stripe", { method: "POST", headers: { "stripe-signature": signed }, body });
      }
    }
  });
}
