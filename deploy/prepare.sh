#!/bin/sh
# Makes what compose.yaml needs and nobody else has: random secrets, the NATS servers' configuration and certificates, and .env. It
# overwrites nothing, and lets the alerts in prometheus/ lead to the runbook of this platform. As root, in the place where the platform is to run:
#   deploy/prepare.sh gate.example plane.example
# The first name is how clients reach the balancer, the second how hosts reach the NATS servers (it may be the same).
set -eu
[ $# -eq 2 ] || { echo "usage: prepare.sh GATE_NAME PLANE_NAME" >&2; exit 2; }
gate=$1 plane=$2
cd "$(dirname "$0")"
for made in secrets plane .env; do
  [ ! -e "$made" ] || { echo "prepare: $made is there already; nothing was changed" >&2; exit 1; }
done
umask 077
random() { head -c 32 /dev/urandom | base64 | tr '+/' '-_' | tr -d '=\n'; }

# The command line of the image, or another one: TOLLGATE="npx tollgate" deploy/prepare.sh …
${TOLLGATE:-docker run --rm --user 0 --volume "$PWD:/work" --workdir /work tollgate:latest} \
  admin plane init --dir plane \
  --servers "a=$plane:4222@nats-a:6222,b=$plane:4223@nats-b:6222,c=$plane:4224@nats-c:6222"
for server in a b c; do
  mkdir "plane/$server"
  mv "plane/nats-$server.conf" "plane/nats-$server-cert.pem" "plane/nats-$server-key.pem" "plane/$server/"
  cp plane/ca.pem "plane/$server/"
  chown -R 10001:10001 "plane/$server"
done

# Containers see these files with the rights they have here, each under another user: the files are open, and the folder is root's.
mkdir secrets
for name in key_pepper receipt_seed postgres_password grafana_password; do random > "secrets/$name"; done
printf 'postgres://tollgate:%s@postgres:5432/tollgate' "$(cat secrets/postgres_password)" > secrets/database_url
chmod 444 secrets/* plane/ca.pem
chmod 711 plane

cat > .env <<EOF
PUBLIC_URL=https://$gate
PLANE_PUBLIC_URL=tls://$plane:4222,tls://$plane:4223,tls://$plane:4224
EOF
sed -i "s#https://gate\.example/#https://$gate/#" prometheus/alerts.yml prometheus/alerts.test.yml
echo "Next: put the certificate of $gate, its chain and its key, into deploy/secrets/tls.pem (chmod 444),"
echo "and move plane/operator.seed, plane/ca-key.pem and plane/administrator.creds to a safe place."
