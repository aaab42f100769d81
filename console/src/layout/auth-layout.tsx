/** The layout of the sign-in pages: one narrow column. */
import { Outlet } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { GatewayBanner } from "./gateway-banner.tsx";
import { Logo } from "./logo.tsx";
import { ThemeMenu } from "./theme-menu.tsx";

export function AuthLayout() {
  return (
    <div className="flex min-h-dvh flex-col px-4">
      <GatewayBanner />
      <header className="flex items-center justify-between py-4 sm:px-4">
        <Logo />
        <ThemeMenu />
      </header>
      <main className="mx-auto w-full max-w-sm pt-[7vh] pb-16">
        <Outlet />
      </main>
    </div>
  );
}

/** A page in this layout: its title, a sentence, and its form. */
export function AuthCard({
  title,
  about,
  children,
  below,
}: {
  title: string;
  about?: ReactNode;
  children: ReactNode;
  below?: ReactNode;
}) {
  return (
    <>
      <title>{`${title} · Tollgate`}</title>
      <h1 className="text-xl font-semibold tracking-tight">{title}</h1>
      {about !== undefined && <p className="mt-1.5 text-ink-soft">{about}</p>}
      <div className="mt-6 rounded-lg border border-line bg-surface p-5 sm:p-6">{children}</div>
      {below !== undefined && <div className="mt-5 text-center text-ink-soft">{below}</div>}
    </>
  );
}
