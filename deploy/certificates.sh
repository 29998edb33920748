#!/usr/bin/env bash
# An authority of the federation's own, and a certificate for its server.
#
#   certificates.sh FOLDER NAME_OR_ADDRESS...      the first time: authority and server certificate
#   certificates.sh --renew FOLDER NAME_OR_ADDRESS...   a new server certificate by the same authority
#
# FOLDER gets ca.crt (give it to every device), ca.key (keep it away from the server, offline if you can),
# server.pem and server.key. Keys are for their owner alone. Nothing is overwritten, and what fails leaves nothing.
set -euo pipefail
umask 077

DAYS_OF_AUTHORITY=3650
DAYS_OF_SERVER=397

fail() { echo "certificates.sh: $*" >&2; exit 1; }

is_ipv4() {
  local byte='(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])'
  [[ $1 =~ ^$byte(\.$byte){3}$ ]]
}

is_ipv6() { # eight groups, or fewer around one '::'
  local group='[0-9A-Fa-f]{1,4}' groups
  [[ $1 =~ ^($group:){7}$group$ ]] && return
  [[ $1 =~ ^($group(:$group)*)?::($group(:$group)*)?$ ]] || return
  read -ra groups <<< "${1//:/ }"
  ((${#groups[@]} <= 7))
}

is_name() {
  local label='[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?'
  [[ $1 =~ ^$label(\.$label)*$ && ! $1 =~ ^[0-9.]+$ ]]
}

renew=false
if [[ "${1:-}" == --renew ]]; then renew=true; shift; fi
[[ $# -ge 2 ]] || fail "give a folder, and the names or addresses by which devices reach the server"
folder=$1; shift

names=()
for name in "$@"; do
  if is_ipv4 "$name" || is_ipv6 "$name"; then names+=("IP:$name")
  elif is_name "$name"; then names+=("DNS:$name")
  else fail "'$name' is no name or address; give it without a port, a mask or brackets"; fi
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
fi

[[ -d $folder ]] && ours=false || ours=true
mkdir -p "$folder"
made=$(mktemp -d "$folder/.new.XXXXXX")
trap 'rm -rf "$made"; ! $ours || rmdir "$folder" 2> /dev/null || true' EXIT # a folder that has files stays

if $renew; then
  authority=$folder
else
  authority=$made
  openssl ecparam -name secp384r1 -genkey -noout -out "$made/ca.key"
  openssl req -x509 -new -key "$made/ca.key" -sha384 -days "$DAYS_OF_AUTHORITY" -subj "/CN=federation authority" \
    -addext "basicConstraints=critical,CA:TRUE,pathlen:0" -addext "keyUsage=critical,keyCertSign,cRLSign" \
    -out "$made/ca.crt"
fi

request() { openssl req -new -key "$made/server.key" -subj "/CN=$1"; }
extensions() {
  echo "basicConstraints=critical,CA:FALSE"
  echo "keyUsage=critical,digitalSignature"
  echo "extendedKeyUsage=serverAuth"
  echo "subjectAltName=$(IFS=,; echo "${names[*]}")"
}
openssl ecparam -name secp384r1 -genkey -noout -out "$made/server.key"
said=$({ request "$1" | openssl x509 -req -CA "$authority/ca.crt" -CAkey "$authority/ca.key" -sha384 \
  -days "$DAYS_OF_SERVER" -set_serial "0x$(openssl rand -hex 16)" -out "$made/server.pem" \
  -extfile <(extensions); } 2>&1) || fail "no certificate for ${names[*]}: $said"
openssl verify -CAfile "$authority/ca.crt" "$made/server.pem" > /dev/null || fail "the certificate does not verify"

mv "$made"/* "$folder"
if $ours; then chmod 755 "$folder"; fi   # certificates are for everybody to read, keys for their owner
chmod 600 "$folder"/*.key
chmod 644 "$folder/ca.crt" "$folder/server.pem"
echo "$folder: ${names[*]}, until $(openssl x509 -in "$folder/server.pem" -noout -enddate | cut -d= -f2)"
