/** Queries and changes for a person's sign-in methods and sessions. */
import { queryOptions, useMutation } from "@tanstack/react-query";
import { call } from "../api/client.ts";
import { queryClient } from "./query-client.ts";
import { meQuery } from "./session.ts";

export const sessionsQuery = queryOptions({
  queryKey: ["sessions"],
  queryFn: () => call("GET /console/api/sessions"),
});

const readSessions = (): Promise<void> => queryClient.invalidateQueries({ queryKey: sessionsQuery.queryKey });
const readMe = (): Promise<void> => queryClient.invalidateQueries({ queryKey: meQuery.queryKey });

export const useEndSession = () =>
  useMutation({
    mutationFn: (id: string) => call("DELETE /console/api/sessions/{id}", { path: { id } }),
    onSettled: readSessions,
  });

export const useEndOtherSessions = () =>
  useMutation({ mutationFn: () => call("DELETE /console/api/sessions"), onSettled: readSessions });

export const useChangePassword = () =>
  useMutation({
    mutationFn: (body: { password: string; new_password: string }) =>
      call("POST /console/api/auth/change-password", { body }),
    onSuccess: readSessions,
  });

export const useBeginTwoFactor = () =>
  useMutation({
    mutationFn: (password: string) => call("POST /console/api/auth/two-factor/enable", { body: { password } }),
  });

export const useConfirmTwoFactor = () =>
  useMutation({
    mutationFn: (code: string) => call("POST /console/api/auth/two-factor/confirm", { body: { code } }),
    onSuccess: readMe,
  });

export const useCreateBackupCodes = () =>
  useMutation({
    mutationFn: (password: string) => call("POST /console/api/auth/two-factor/backup-codes", { body: { password } }),
  });

export const useDisableTwoFactor = () =>
  useMutation({
    mutationFn: (password: string) => call("POST /console/api/auth/two-factor/disable", { body: { password } }),
    onSuccess: readMe,
  });

export const useSetPreferences = () =>
  useMutation({
    mutationFn: (body: { locale: string | null; time_zone: string | null }) =>
      call("PUT /console/api/me/preferences", { body }),
    onSuccess: readMe,
  });

export const useRenameAccount = () =>
  useMutation({
    mutationFn: ({ id, name }: { id: string; name: string }) =>
      call("PATCH /console/api/accounts/{id}", { path: { id }, body: { name } }),
    onSuccess: readMe,
  });
