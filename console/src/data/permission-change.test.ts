import assert from "node:assert/strict";
import { test } from "node:test";
import type { Role } from "../api/answer-types.ts";
import { findPermissionChange } from "./permission-change.ts";

const account = (name: string, role: Role, suspended = false) => ({ id: `acc_${name}`, name, role, suspended });
const seen = (accounts: ReturnType<typeof account>[], operator = false) => ({ identity: { operator }, accounts });

test("reports a changed role and keeps the page open", () => {
  const [viewer, member] = [seen([account("Acme", "viewer")]), seen([account("Acme", "member")])];
  assert.deepEqual(findPermissionChange(viewer, member), { text: "Your role in Acme is now member.", lost: false });
  assert.deepEqual(findPermissionChange(member, viewer), { text: "Your role in Acme is now viewer.", lost: false });
});

test("reports a lost permission before other changes", () => {
  const before = seen([account("Acme", "owner"), account("Barn", "viewer")], true);
  const removed = findPermissionChange(before, seen([account("Acme", "viewer")], true));
  assert.deepEqual(removed, { text: "You no longer have access to Barn.", lost: true });
  for (const now of [
    seen([account("Acme", "owner"), account("Barn", "viewer", true)], true),
    seen([account("Acme", "viewer"), account("Barn", "viewer")]),
  ]) {
    assert.match(findPermissionChange(before, now)?.text ?? "", /^Your access has changed/);
    assert.equal(findPermissionChange(before, now)?.lost, true);
  }
});

test("reports nothing if permissions are unchanged, a suspension ended or an account was added", () => {
  const before = seen([account("Acme", "viewer", true)]);
  assert.equal(findPermissionChange(before, before), undefined);
  assert.equal(
    findPermissionChange(before, seen([account("Acme", "viewer"), account("New", "owner")], true)),
    undefined,
  );
});
