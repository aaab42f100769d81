/** Switches between the light theme, the dark theme and the system's setting. */

import { IconButton } from "../ui/button.tsx";
import { Monitor, Moon, Sun } from "../ui/icons.tsx";
import { Menu, MenuChoice } from "../ui/menu.tsx";
import type { Theme } from "../ui/stored-theme.ts";
import { setTheme, useTheme } from "../ui/use-theme.ts";

const ICONS = { system: Monitor, light: Sun, dark: Moon };

const option = (value: Theme, text: string) => {
  const Icon = ICONS[value];
  return {
    value,
    label: (
      <>
        <Icon aria-hidden />
        {text}
      </>
    ),
  };
};

const OPTIONS = [option("system", "System"), option("light", "Light"), option("dark", "Dark")];

export function ThemeMenu() {
  const theme = useTheme();
  const Icon = ICONS[theme];
  return (
    <Menu
      button={
        <IconButton label="Theme">
          <Icon aria-hidden className="size-4" />
        </IconButton>
      }
    >
      <MenuChoice label="Theme" value={theme} options={OPTIONS} onChange={setTheme} />
    </Menu>
  );
}
