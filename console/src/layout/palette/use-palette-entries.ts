/** All destinations and actions of the command palette. Its pages are those of the navigation. */
import { useQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import type { Me } from "../../api/answer-types.ts";
import { findChosenAccount } from "../../api/chosen-account.ts";
import { keysQuery } from "../../data/keys.ts";
import { liveModelsQuery } from "../../data/live-models.ts";
import { switchAccount } from "../../data/signed-in-session.ts";
import type { Theme } from "../../ui/stored-theme.ts";
import { toastError } from "../../ui/toast.tsx";
import { setTheme } from "../../ui/use-theme.ts";
import { buildNavigation } from "../navigation.ts";
import { chooseDestination, type PaletteEntry } from "./palette-entries.ts";
import { PAGE_SYNONYMS } from "./synonyms.ts";

const THEMES: Record<Theme, string> = { light: "Light theme", dark: "Dark theme", system: "System theme" };

export function usePaletteEntries(me: Me): PaletteEntry[] {
  const router = useRouter();
  const paths = Object.values(router.routesById).map(({ fullPath }) => String(fullPath));
  const builds = findChosenAccount("builder", me.accounts) !== undefined;
  const { data: keys } = useQuery({ ...keysQuery, enabled: builds, refetchInterval: false });
  const { data: models } = useQuery({ ...liveModelsQuery, refetchInterval: false });
  const working = (keys?.data ?? []).filter(({ revoked_at }) => revoked_at === null);
  return [
    ...pagesOf(me),
    ...accountsOf(me),
    ...working.map(
      ({ id, name, start }): PaletteEntry => ({
        id,
        group: "API keys",
        label: name,
        hint: `${start}_…`,
        to: chooseDestination(paths, "/keys", "key", id),
      }),
    ),
    ...(models?.data ?? []).map(
      ({ id }): PaletteEntry => ({
        id,
        group: "Models",
        label: id,
        to: chooseDestination(paths, "/models", "model", id),
      }),
    ),
    ...Object.entries(THEMES).map(
      ([theme, label]): PaletteEntry => ({
        id: `theme ${theme}`,
        group: "Theme",
        label,
        act: () => setTheme(theme as Theme),
      }),
    ),
  ];
}

function pagesOf(me: Me): PaletteEntry[] {
  const pages = buildNavigation(me).flatMap(({ label: group, items }) =>
    items.map(({ to, label }): PaletteEntry => ({ id: to, group, label, to: { path: to } })),
  );
  const own: PaletteEntry[] = [
    { id: "/accounts", group: "You", label: "Your accounts", hint: "switch or create", to: { path: "/accounts" } },
    { id: "/notifications", group: "You", label: "Notifications", to: { path: "/notifications" } },
    { id: "/settings", group: "You", label: "Settings", to: { path: "/settings" } },
  ];
  return [...pages, ...own].map((page) => ({ ...page, also: PAGE_SYNONYMS[page.id] }));
}

/** Entries that switch to one of the person's other accounts. */
function accountsOf({ accounts }: Me): PaletteEntry[] {
  return accounts
    .filter((account) => !account.suspended && findChosenAccount(account.kind, accounts)?.id !== account.id)
    .map((account) => ({
      id: account.id,
      group: "Switch account",
      label: account.name,
      hint: `${account.kind} account`,
      act: () => void switchAccount(account).catch(toastError),
    }));
}
