/**
 * The page that confirms the code of `tollgate login`. It shows which machine requests a session, and the access that
 * the session would have.
 */
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import type { ScriptLogin } from "../../api/answer-types.ts";
import { errorMessage } from "../../api/api-fault.ts";
import { scriptLoginQuery, useDecideScriptLogin } from "../../data/script-login.ts";
import { useMe } from "../../data/signed-in-session.ts";
import { AuthCard } from "../../layout/auth-layout.tsx";
import { Button, buttonClasses } from "../../ui/button.tsx";
import { Property, PropertyList } from "../../ui/drawer.tsx";
import { Form, FormProblem, readTextField } from "../../ui/form.tsx";
import { TextField } from "../../ui/form-fields.tsx";
import { Loading } from "../../ui/loading-states.tsx";

export function AuthorizePage() {
  const { code } = useSearch({ from: "/auth/authorize" });
  return code === undefined ? <EnterCode /> : <Asked key={code} code={code} />;
}

/** The form for users who opened the page without a code. */
function EnterCode() {
  const navigate = useNavigate();
  return (
    <AuthCard title="Give a script access" about="Enter the code that tollgate login shows.">
      <Form onSubmit={(fields) => void navigate({ to: "/authorize", search: { code: readTextField(fields, "code") } })}>
        <TextField name="code" label="Code" autoComplete="off" maxLength={16} required autoFocus />
        <Button look="primary" type="submit">
          Continue
        </Button>
      </Form>
    </AuthCard>
  );
}

function Asked({ code }: { code: string }) {
  const login = useQuery(scriptLoginQuery(code));
  const answer = useDecideScriptLogin(code);
  if (answer.data !== undefined) return <Answered status={answer.data.status} />;
  if (login.data !== undefined) return <Offer login={login.data} answer={answer} />;
  if (login.error === null) return <Loading />;
  return (
    <AuthCard title="This code does not work">
      <div className="flex flex-col gap-5">
        <FormProblem>{errorMessage(login.error)}</FormProblem>
        <ToConsole />
      </div>
    </AuthCard>
  );
}

const ACCESS = {
  read: "Read everything that you can read",
  write: "Read everything that you can read, and change what your roles allow",
};

function Offer({ login, answer }: { login: ScriptLogin; answer: ReturnType<typeof useDecideScriptLogin> }) {
  const { identity } = useMe();
  return (
    <AuthCard title="Give a script access?" about="Confirm only if you just ran tollgate login and it shows this code.">
      <div className="flex flex-col gap-5">
        <p className="text-center font-mono text-2xl font-semibold tracking-widest">{login.code}</p>
        <PropertyList>
          <Property name="Asked by">
            {login.name}
            <span className="block text-ink-soft">from {login.address ?? "an unknown address"}</span>
          </Property>
          <Property name="It may">{ACCESS[login.access]}</Property>
          <Property name="Lasts">30 days, or until you end it under Settings</Property>
          <Property name="Signed in as">{identity.email}</Property>
        </PropertyList>
        <div role="alert" className="empty:hidden">
          {answer.error !== null && <FormProblem>{errorMessage(answer.error)}</FormProblem>}
        </div>
        <div className="flex flex-wrap gap-2">
          <Button look="primary" busy={answer.isPending} onClick={() => answer.mutate(true)}>
            Confirm
          </Button>
          <Button disabled={answer.isPending} onClick={() => answer.mutate(false)}>
            Refuse
          </Button>
        </div>
      </div>
    </AuthCard>
  );
}

const Answered = ({ status }: { status: "confirmed" | "refused" }) =>
  status === "confirmed" ? (
    <AuthCard title="The script is logged in" about="Go back to your terminal. You can close this page.">
      <Link to="/settings" className={buttonClasses("plain")}>
        See your sessions
      </Link>
    </AuthCard>
  ) : (
    <AuthCard title="The login was refused" about="The script cannot access your account.">
      <ToConsole />
    </AuthCard>
  );

const ToConsole = () => (
  <Link to="/" className={buttonClasses("plain")}>
    Go to the console
  </Link>
);
