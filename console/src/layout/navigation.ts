/** The pages in the navigation, depending on the person's accounts. */

import type { Me } from "../api/answer-types.ts";
import { findChosenAccount } from "../api/chosen-account.ts";
import type { Icon } from "../ui/icons.tsx";
import {
  Activity,
  Banknote,
  Boxes,
  ChartNoAxesCombined,
  Cpu,
  CreditCard,
  Gauge,
  HandCoins,
  KeyRound,
  MessageSquare,
  Network,
  Scale,
  ScrollText,
  Search,
  ServerCog,
  Ticket,
  Timer,
  Users,
  UsersRound,
} from "../ui/icons.tsx";

interface NavItem {
  to: string;
  label: string;
  icon: Icon;
  /** Marks the entry as current only on this page, not on the pages below it. */
  exact?: boolean;
}

interface NavGroup {
  label: string;
  items: NavItem[];
}

const BUILD: NavGroup = {
  label: "Build",
  items: [
    { to: "/overview", label: "Overview", icon: Gauge },
    { to: "/keys", label: "API keys", icon: KeyRound },
    { to: "/requests", label: "Requests", icon: Activity },
    { to: "/performance", label: "Performance", icon: Timer },
    { to: "/playground", label: "Playground", icon: MessageSquare },
    { to: "/models", label: "Models", icon: Boxes },
    { to: "/credits", label: "Credits", icon: CreditCard },
    { to: "/team", label: "Team", icon: UsersRound },
  ],
};

const HOST: NavGroup = {
  label: "Host",
  items: [
    { to: "/host", label: "Nodes", icon: Cpu, exact: true },
    { to: "/host/earnings", label: "Earnings", icon: HandCoins },
    { to: "/host/payouts", label: "Payouts", icon: Banknote },
    { to: "/host/market", label: "Market", icon: ChartNoAxesCombined },
    { to: "/host/tokens", label: "Host tokens", icon: Ticket },
    { to: "/host/team", label: "Team", icon: UsersRound },
  ],
};

const OPERATE: NavGroup = {
  label: "Operate",
  items: [
    { to: "/operator", label: "Platform", icon: ServerCog, exact: true },
    { to: "/operator/requests", label: "Find a request", icon: Search },
    { to: "/operator/accounts", label: "Accounts", icon: Users },
    { to: "/operator/nodes", label: "All nodes", icon: Network },
    { to: "/operator/payouts", label: "Payouts", icon: Banknote },
    { to: "/operator/ledger", label: "Ledger", icon: Scale },
    { to: "/operator/audit", label: "Audit log", icon: ScrollText },
  ],
};

export function buildNavigation({ identity, accounts }: Me): NavGroup[] {
  return [
    ...(findChosenAccount("builder", accounts) === undefined ? [] : [BUILD]),
    ...(findChosenAccount("host", accounts) === undefined ? [] : [HOST]),
    ...(identity.operator ? [OPERATE] : []),
  ];
}

/** The first page after sign-in, depending on the person's accounts. */
export function chooseHomePath({ identity, accounts }: Me): "/overview" | "/host" | "/operator" | "/accounts" {
  if (findChosenAccount("builder", accounts) !== undefined) return "/overview";
  if (findChosenAccount("host", accounts) !== undefined) return "/host";
  return identity.operator ? "/operator" : "/accounts";
}
