/** Queries and changes for a person's sign-in methods and sessions. */
import { queryOptions, useMutation } from "@tanstack/react-query";
import { callConsoleApi } from "../api/api-client.ts";
import { queryClient } from "./query-client.ts";
import { meQuery } from "./signed-in-session.ts";

export const sessionsQuery = queryOptions({
  queryKey: ["sessions"],
  queryFn: () => callConsoleApi("GET /console/api/sessions"),
});

const readSessions = (): Promise<void> => queryClient.invalidateQueries({ queryKey: sessionsQuery.queryKey });
const readMe = (): Promise<void> => queryClient.invalidateQueries({ queryKey: meQuery.queryKey });

export const useEndSession = () =>
  useMutation({
    mutationFn: (id: string) => callConsoleApi("DELETE /console/api/sessions/{id}", { path: { id } }),
    onSettled: readSessions,
  });

export const useEndOtherSessions = () =>
  useMutation({ mutationFn: () => callConsoleApi("DELETE /console/api/sessions"), onSettled: readSessions });

export const useChangePassword = () =>
  useMutation({
    mutationFn: (body: { password: string; new_password: string }) =>
      callConsoleApi("POST /console/api/auth/change-password", { body }),
    onSuccess: readSessions,
  });

export const useBeginTwoFactor = () =>
  useMutation({
    mutationFn: (password: string) =>
      callConsoleApi("POST /console/api/auth/two-factor/enable", { body: { password } }),
  });

export const useConfirmTwoFactor = () =>
  useMutation({
    mutationFn: (code: string) => callConsoleApi("POST /console/api/auth/two-factor/confirm", { body: { code } }),
    onSuccess: readMe,
  });

export const useCreateBackupCodes = () =>
  useMutation({
    mutationFn: (password: string) =>
      callConsoleApi("POST /console/api/auth/two-factor/backup-codes", { body: { password } }),
  });

export const useDisableTwoFactor = () =>
  useMutation({
    mutationFn: (password: string) =>
      callConsoleApi("POST /console/api/auth/two-factor/disable", { body: { password } }),
    onSuccess: readMe,
  });

export const useSetPreferences = () =>
  useMutation({
    mutationFn: (body: { locale: string | null; time_zone: string | null }) =>
      callConsoleApi("PUT /console/api/me/preferences", { body }),
    onSuccess: readMe,
  });

export const useRenameAccount = () =>
  useMutation({
    mutationFn: ({ id, name }: { id: string; name: string }) =>
      callConsoleApi("PATCH /console/api/accounts/{id}", { path: { id }, body: { name } }),
    onSuccess: readMe,
  });
