/** An account's monthly usage or earnings as a file to download. */
import { z } from "zod";
import { declareRoutes } from "../route-declaration.ts";

const MonthQuery = z.object({
  month: z.string("must be a string").regex(/^20\d\d-(0[1-9]|1[0-2])$/, "must be a month such as 2026-10"),
});
const words = { month: "The UTC month, such as `2026-10`. The current month so far is marked as provisional." };
const description =
  "One PDF file. Amounts have six decimals; the balance before and all amounts add up to the balance after.";

export const invoiceRoutes = declareRoutes({
  getInvoice: {
    at: "GET /console/api/invoice.pdf",
    summary: "Get the invoice of a month",
    description,
    guard: "builder",
    query: MonthQuery,
    words,
    answer: {
      description: "The invoice.",
      pdf: { description: "Purchases and other transfers, usage by model, and the balance before and after." },
      headers: ["content-disposition"],
    },
  },
  getHostStatement: {
    at: "GET /console/api/earnings.pdf",
    summary: "Get the statement of a host's month",
    description,
    guard: "host",
    tag: "Hosting",
    query: MonthQuery,
    words,
    answer: {
      description: "The statement.",
      pdf: { description: "Earnings by model, payouts and other transfers, and the balance before and after." },
      headers: ["content-disposition"],
    },
  },
});
