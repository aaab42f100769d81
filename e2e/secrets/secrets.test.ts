/**
 * Checks that no secret and no prompt text is stored or leaked. A platform is used for a while with every kind of
 * secret, and with a unique word in every input: prompts, outputs, errors, node messages, headers, addresses, names,
 * forms, webhooks. Then the test searches everything that was written: logs at their most verbose level, terminal
 * output, metrics, every table, every file, and every response that should contain no secret. Only names that users
 * chose may be stored, each in its own table.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { readAllFiles, readAllRows } from "./leak-markers.ts";
import { leakMarkers, type SecretsPlatform, startSecretsPlatform } from "./leak-test-platform.ts";
import { type People, testPeople } from "./people-leak-tests.ts";
import { testRequests } from "./request-leak-tests.ts";
import { testWordsInEveryField } from "./words-in-every-field.ts";

describe("no secret and no prompt leaks while every feature is used", () => {
  let rig: SecretsPlatform;
  const closing: (() => unknown)[] = [];
  before(async () => {
    rig = await startSecretsPlatform((close) => closing.unshift(close));
  });
  after(async () => {
    for (const close of closing) await close();
  });
  const people = {} as People;
  testPeople(() => rig, people);
  testRequests(() => rig, people);
  testWordsInEveryField(() => rig);

  let rows: { table: string; row: string }[];
  let metrics = "";
  /**
   * Session tokens without their signatures cannot be used. They are stored in their table, and must be nowhere else.
   */
  let sessions: string[];
  test("the person and the operator read all data that their roles may see", async () => {
    const { data } = await people.person.get<{ data: { id: string }[] }>("requests?limit=100");
    assert.ok(data.length >= 10);
    for (const { id } of data.slice(0, 3)) {
      await people.person.get(`requests/${id}`);
      await people.person.get(`requests/${id}/receipt`);
    }
    const lists = ["me", "sessions", "usage?by=key", "balance", "ledger", "nodes", "earnings", "auth/get-session"];
    for (const path of lists) await people.person.get(path);
    assert.equal((await people.person.ask("GET", "requests.csv")).status, 200);
    for (const path of ["overview", "accounts", "nodes", "payouts", "audit", "ledger/check"]) {
      await people.operator.get(`operator/${path}`);
    }
    const internal = /"internalPort":(\d+)/.exec(await readFile(join(rig.dataDir, "gateway.log"), "utf8"))?.[1];
    for (const path of ["metrics", "healthz", "readyz"]) {
      const response = await fetch(`http://127.0.0.1:${internal}/${path}`);
      const text = await response.text();
      if (path === "metrics") metrics = text;
      rig.answers.push({ what: path, answer: { status: response.status, text, body: {} } });
    }
    rows = await readAllRows(rig.platform.query);
    sessions = (await rig.platform.query<{ token: string }>("select token from identity_session")).map(
      ({ token }) => token,
    );
    assert.ok(sessions.length > 0);
    const ended = new Promise((resolve) => rig.agent.once("exit", resolve));
    rig.agent.kill("SIGTERM");
    await ended;
    assert.equal(await rig.platform.stop(), 0);
  });

  test("no table and no metric contains a secret or a prompt, except names in the tables that may store them", () => {
    assert.ok(leakMarkers.size > 250, `${leakMarkers.size} words and secrets`);
    const isIn = (table: string, allowed: string): boolean =>
      table === allowed || table.startsWith(`${allowed}_2`) || table === `${allowed}_other`;
    const found = rows.flatMap(({ table, row }) =>
      leakMarkers.foundIn(`the table ${table}`, row, ({ tables }) => tables.some((allowed) => isIn(table, allowed))),
    );
    assert.deepEqual([...found, ...leakMarkers.foundIn("the metrics", metrics)], []);
    for (const [what, value] of Object.entries(rig.platform.ready)) {
      if (typeof value !== "string" || what.endsWith("url")) continue;
      assert.ok(!rows.some(({ row }) => row.includes(value)), what);
    }
    for (const { table, row } of rows) {
      if (table !== "identity_session") assert.ok(!sessions.some((token) => row.includes(token)), table);
    }
    // Checks that the search works: it must find the words that may be stored.
    for (const { way, word, tables } of leakMarkers.keepable) {
      assert.ok(
        rows.some(({ row }) => row.includes(word)),
        `${way} is kept in ${tables.join(", ")}`,
      );
    }
  });

  test("no log, terminal output or file contains a secret or a prompt, including the database's files and its WAL", async () => {
    const files = await readAllFiles(rig.dataDir);
    // A gateway's journals (recent commits, in case a failover loses them) contain the same data as the tables.
    const isOfTables = (path: string): boolean =>
      (path.startsWith("postgres/") && !path.endsWith(".log")) || /^spool\/.*\.(requests|changes)$/.test(path);
    const found = files.flatMap(({ path, content }) =>
      leakMarkers.foundIn(path, content, isOfTables(path) ? ({ tables }) => tables.length > 0 : undefined),
    );
    assert.match(rig.platform.output(), /Tollgate is ready/);
    assert.deepEqual([...found, ...leakMarkers.foundIn("the screen", rig.platform.output())], []);
    const kept = leakMarkers.keepable.map(({ word }) => word);
    const holders = files.filter(
      ({ path, content }) => isOfTables(path) && kept.some((word) => content.includes(word)),
    );
    assert.ok(holders.length >= 2, "names are found, in a table and in the journal");
    const logs = new Map(
      files.filter(({ path }) => path.endsWith(".log")).map((file) => [file.path, String(file.content)]),
    );
    assert.ok(logs.has("postgres/postgres.log"));
    assert.match(logs.get("gateway.log") ?? "", /"level":10|"level":20/);
    assert.match(logs.get("gateway.log") ?? "", /"msg":"serving"/);
    assert.match(logs.get("agent.log") ?? "", /serving tiny-3b|online/);
    // A development platform's password is shown on the terminal and in a file of the data directory. Logs must not
    // contain it.
    for (const [name, log] of logs) {
      assert.ok(![...sessions, rig.platform.ready.builder.password].some((secret) => log.includes(secret)), name);
    }
  });

  test("no response contains a secret, except the response that issued it", () => {
    assert.ok(rig.answers.length > 50, `${rig.answers.length} answers`);
    const found = leakMarkers.secrets.flatMap(({ way, value, shownIn }) =>
      rig.answers
        .filter(({ answer }) => answer !== shownIn && answer.text.includes(value))
        .map((other) => `${way} in an answer to ${other.what}: ${other.answer.text.slice(0, 200)}`),
    );
    assert.deepEqual(found, []);
    for (const { what, answer } of rig.answers) assert.ok(!sessions.some((token) => answer.text.includes(token)), what);
    for (const { way, value, shownIn } of leakMarkers.secrets)
      if (shownIn) assert.ok(shownIn.text.includes(value), way);
  });
});
