/** For tests: reads the audit log as an operator. */
import type { Person } from "./sign-in-test-person.ts";

interface Act {
  operator: string;
  action: string;
  subject: string;
  details: Record<string, unknown>;
  outcome: string | null;
}

/** The latest entries of the audit log, newest first. */
export async function readLatestAuditEntries({ browser }: Person, count: number): Promise<Act[]> {
  const { body } = await browser.send("GET", `/console/api/operator/audit?limit=${count}`);
  return (body.data as (Act & { object: string; at: number })[]).map(({ object, at, ...act }) => act);
}
