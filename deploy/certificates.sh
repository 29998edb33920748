#!/usr/bin/env bash
# An authority of the federation's own, and a certificate for its server.
#
#   certificates.sh FOLDER NAME_OR_ADDRESS...      the first time: authority and server certificate
#   certificates.sh --renew FOLDER NAME_OR_ADDRESS...   a new server certificate by the same authority
#
# FOLDER gets ca.crt (give it to every device), ca.key (keep it away from the server, offline if you can),
# server.pem and server.key. Keys are for their owner alone. Nothing is overwritten.
set -euo pipefail
umask 077

DAYS_OF_AUTHORITY=3650
DAYS_OF_SERVER=397

fail() { echo "certificates.sh: $*" >&2; exit 1; }

renew=false
if [[ "${1:-}" == --renew ]]; then renew=true; shift; fi
[[ $# -ge 2 ]] || fail "give a folder, and the names or addresses by which devices reach the server"
folder=$1; shift
[[ -d $folder ]] && ours=false || ours=true
mkdir -p "$folder"

names=()
for name in "$@"; do
  [[ "$name" =~ ^[A-Za-z0-9.:-]+$ ]] || fail "'$name' is no name or address"
  if [[ "$name" =~ ^[0-9.]+$ || "$name" == *:* ]]; then names+=("IP:$name"); else names+=("DNS:$name"); fi
done

if $renew; then
  [[ -e "$folder/ca.key" ]] || fail "there is no authority in $folder"
  for file in server.pem server.key; do
    [[ ! -e "$folder/$file" ]] || fail "move $folder/$file away first; running servers keep what they have read"
  done
else
  for file in ca.crt ca.key server.pem server.key; do
    [[ ! -e "$folder/$file" ]] || fail "$folder/$file is there already"
  done
  openssl ecparam -name secp384r1 -genkey -noout -out "$folder/ca.key"
  openssl req -x509 -new -key "$folder/ca.key" -sha384 -days "$DAYS_OF_AUTHORITY" -subj "/CN=federation authority" \
    -addext "basicConstraints=critical,CA:TRUE,pathlen:0" -addext "keyUsage=critical,keyCertSign,cRLSign" \
    -out "$folder/ca.crt"
fi

request=$(mktemp)
trap 'rm -f "$request"' EXIT
openssl ecparam -name secp384r1 -genkey -noout -out "$folder/server.key"
openssl req -new -key "$folder/server.key" -subj "/CN=$1" -out "$request"
openssl x509 -req -in "$request" -CA "$folder/ca.crt" -CAkey "$folder/ca.key" -sha384 -days "$DAYS_OF_SERVER" \
  -set_serial "0x$(openssl rand -hex 16)" -out "$folder/server.pem" -extfile <(
    echo "basicConstraints=critical,CA:FALSE"
    echo "keyUsage=critical,digitalSignature"
    echo "extendedKeyUsage=serverAuth"
    echo "subjectAltName=$(IFS=,; echo "${names[*]}")"
  ) 2> /dev/null

if $ours; then chmod 755 "$folder"; fi   # certificates are for everybody to read, keys for their owner
chmod 600 "$folder"/*.key
chmod 644 "$folder/ca.crt" "$folder/server.pem"
openssl verify -CAfile "$folder/ca.crt" "$folder/server.pem" > /dev/null || fail "the certificate does not verify"
echo "$folder: ${names[*]}, until $(openssl x509 -in "$folder/server.pem" -noout -enddate | cut -d= -f2)"
