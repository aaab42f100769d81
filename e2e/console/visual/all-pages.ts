/** Every page of the console, grouped by the role that visits it. */

import type { TourStop } from "./page-tour.ts";
import type { Role } from "./recording-files.ts";
import { BUILDER_PAGES } from "./tours/builder.ts";
import { HOST_PAGES, NODE_PAGE } from "./tours/host.ts";
import { ACCOUNT_PAGES, OPERATOR_PAGES } from "./tours/operator.ts";
import { BEFORE_SIGN_IN } from "./tours/visitor.ts";

export const ALL_PAGES: [Role, TourStop[]][] = [
  ["visitor", BEFORE_SIGN_IN],
  ["builder", [...BUILDER_PAGES, ...HOST_PAGES, NODE_PAGE]],
  ["operator", [...OPERATOR_PAGES, ...ACCOUNT_PAGES]],
];
