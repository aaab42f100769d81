/** The layout of every page behind the sign-in. The navigation is at the side, or behind a button on narrow screens. */
import { Link, Outlet, useLocation } from "@tanstack/react-router";
import { Dialog } from "radix-ui";
import { Suspense, useEffect, useRef, useState } from "react";
import type { Me } from "../api/answer-types.ts";
import { useBuilderEventStream } from "../data/live-event-stream.ts";
import { useChosenAccount, useMe } from "../data/signed-in-session.ts";
import { formatLocaleKey } from "../locale.ts";
import { IconButton } from "../ui/button.tsx";
import { BookOpen, Code, Menu as MenuIcon, X } from "../ui/icons.tsx";
import { Loading } from "../ui/loading-states.tsx";
import { SharedDecimalPlaces } from "../ui/shared-decimal-places.tsx";
import { GatewayBanner } from "./gateway-banner.tsx";
import { Logo } from "./logo.tsx";
import { buildNavigation } from "./navigation.ts";
import { NotificationBell } from "./notification-bell.tsx";
import { Palette, PaletteButton, usePalette } from "./palette/command-palette.tsx";
import { PersonMenu } from "./person-menu.tsx";
import { usePreloadPages } from "./preload-pages.ts";
import { ThemeMenu } from "./theme-menu.tsx";
import { TopUpBanner } from "./top-up-banner.tsx";

export function AppShell() {
  const me = useMe();
  const builder = useChosenAccount("builder");
  const host = useChosenAccount("host");
  useBuilderEventStream(builder?.id);
  usePreloadPages(me);
  const { open: searching, setOpen: setSearching } = usePalette();
  const main = useFocusAfterNavigation();
  const { pathname } = useLocation();
  return (
    <div className="min-h-dvh lg:grid lg:grid-cols-[15rem_minmax(0,1fr)]">
      <a
        href="#main"
        className="fixed top-2 left-2 z-50 -translate-y-16 rounded-md bg-accent px-3 py-2 font-medium text-accent-ink focus:translate-y-0"
      >
        Skip to content
      </a>
      <TopBar me={me} onSearch={() => setSearching(true)} />
      <Palette me={me} open={searching} onClose={() => setSearching(false)} />
      <aside className="sticky top-0 hidden h-dvh flex-col overflow-y-auto border-r border-line bg-surface px-3 py-4 lg:flex">
        <div className="flex items-center justify-between pb-5 pl-2">
          <Logo />
          <div className="flex items-center">
            <NotificationBell />
            <ThemeMenu />
          </div>
        </div>
        <PaletteButton onOpen={() => setSearching(true)} />
        <Navigation me={me} />
        <div className="mt-auto pt-4">
          <PersonMenu me={me} />
        </div>
      </aside>
      <div className="flex min-w-0 flex-col">
        <GatewayBanner />
        <main
          ref={main}
          id="main"
          tabIndex={-1}
          className="mx-auto w-full max-w-6xl min-w-0 flex-1 px-4 pt-5 pb-16 outline-none sm:px-6 lg:px-8 lg:pt-8"
        >
          <Suspense fallback={<Loading />}>
            <SharedDecimalPlaces page={pathname}>
              {/* The key remounts the page after a change of account or locale, so that no old input or formatted
                  text remains. */}
              <Outlet key={`${builder?.id} ${host?.id} ${formatLocaleKey()}`} />
            </SharedDecimalPlaces>
          </Suspense>
        </main>
        <TopUpBanner builder={builder} />
      </div>
    </div>
  );
}

function TopBar({ me, onSearch }: { me: Me; onSearch: () => void }) {
  const [open, setOpen] = useState(false);
  return (
    <header className="sticky top-0 z-30 flex h-13 items-center justify-between border-b border-line bg-surface px-3 lg:hidden">
      <Dialog.Root open={open} onOpenChange={setOpen}>
        <div className="flex items-center gap-2">
          <Dialog.Trigger asChild>
            <IconButton label="Open navigation">
              <MenuIcon aria-hidden className="size-5" />
            </IconButton>
          </Dialog.Trigger>
          <Logo />
        </div>
        <Dialog.Portal>
          <Dialog.Overlay className="fixed inset-0 z-40 animate-fade-in bg-shade" />
          <Dialog.Content
            aria-describedby={undefined}
            className="fixed inset-y-0 left-0 z-50 flex w-72 max-w-[85vw] animate-fade-in flex-col overflow-y-auto border-r border-line bg-surface px-3 py-4"
          >
            <Dialog.Title className="sr-only">Navigation</Dialog.Title>
            <div className="flex items-center justify-between pb-5 pl-2">
              <Logo />
              <Dialog.Close asChild>
                <IconButton label="Close navigation">
                  <X aria-hidden className="size-4" />
                </IconButton>
              </Dialog.Close>
            </div>
            <Navigation me={me} onGo={() => setOpen(false)} />
            <div className="mt-auto pt-4">
              <PersonMenu me={me} />
            </div>
          </Dialog.Content>
        </Dialog.Portal>
      </Dialog.Root>
      <div className="flex items-center gap-1">
        <PaletteButton narrow onOpen={onSearch} />
        <NotificationBell />
        <ThemeMenu />
      </div>
    </header>
  );
}

/** Links to pages that the gateway serves itself, outside the console. */
const ELSEWHERE = [
  { href: "/docs", label: "Docs", icon: Code },
  { href: "/docs/guide", label: "Guide", icon: BookOpen },
];

function Navigation({ me, onGo }: { me: Me; onGo?: () => void }) {
  return (
    <nav aria-label="Console" className="flex flex-col gap-5">
      {buildNavigation(me).map(({ label, items }) => (
        <div key={label}>
          <p className="px-2 pb-1.5 text-xs font-medium text-ink-soft">{label}</p>
          <ul className="flex flex-col gap-0.5">
            {items.map(({ to, label: text, icon: Icon, exact }) => (
              <li key={to}>
                <Link
                  to={to}
                  {...(onGo !== undefined && { onClick: onGo })}
                  activeOptions={{ exact: exact ?? false, includeSearch: false }}
                  className="flex h-9 items-center gap-2.5 rounded-md px-2 text-ink-soft transition-colors hover:bg-sunken hover:text-ink aria-[current=page]:bg-accent-soft aria-[current=page]:font-medium aria-[current=page]:text-accent"
                >
                  <Icon aria-hidden className="size-4 shrink-0" />
                  {text}
                </Link>
              </li>
            ))}
          </ul>
        </div>
      ))}
      <ul className="flex flex-col gap-0.5">
        {ELSEWHERE.map(({ href, label, icon: Icon }) => (
          <li key={href}>
            <a
              href={href}
              className="flex h-9 items-center gap-2.5 rounded-md px-2 text-ink-soft hover:bg-sunken hover:text-ink"
            >
              <Icon aria-hidden className="size-4 shrink-0" />
              {label}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** After navigation, moves the focus to the start of the new page, as a full page load would. */
function useFocusAfterNavigation() {
  const main = useRef<HTMLElement>(null);
  const { pathname } = useLocation();
  const shown = useRef(pathname);
  useEffect(() => {
    if (shown.current === pathname) return;
    shown.current = pathname;
    main.current?.focus({ preventScroll: true });
  }, [pathname]);
  return main;
}
