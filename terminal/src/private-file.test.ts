import assert from "node:assert/strict";
import { test } from "node:test";
import { configDirectory } from "./private-file.ts";

test("each platform has its own location for the configuration directory", () => {
  const home = "/home/ada";
  const places: [Parameters<typeof configDirectory>[0], string][] = [
    [{ platform: "linux", home, env: {} }, "/home/ada/.config/tollgate"],
    [{ platform: "linux", home, env: { XDG_CONFIG_HOME: "/conf" } }, "/conf/tollgate"],
    [{ platform: "linux", home, env: { XDG_CONFIG_HOME: "conf" } }, "/home/ada/.config/tollgate"],
    [{ platform: "linux", home, env: { XDG_CONFIG_HOME: "" } }, "/home/ada/.config/tollgate"],
    [{ platform: "darwin", home, env: {} }, "/home/ada/Library/Application Support/tollgate"],
    [{ platform: "win32", home: "C:\\Users\\ada", env: { APPDATA: "C:\\Roaming" } }, "C:\\Roaming\\tollgate"],
    [{ platform: "win32", home: "C:\\Users\\ada", env: {} }, "C:\\Users\\ada\\AppData\\Roaming\\tollgate"],
  ];
  for (const [place, directory] of places) assert.equal(configDirectory(place), directory);
});
