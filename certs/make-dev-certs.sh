#!/usr/bin/env bash
# Makes a throw-away authority, server and device with the openssl command line: to try a client against a gateway, or
# to check the gateway's own certificates against ones that it has not made. Never for a gateway that matters; that is
# what `carillon init` and `carillon device enroll` are for.
#
# usage: certs/make-dev-certs.sh [--directory DIR] [--days N] [HOST ...]
#   DIR is certs/dev unless said, and must not exist. HOSTs are added to localhost, 127.0.0.1 and ::1.
set -euo pipefail
umask 077

directory=$(dirname "$0")/dev
days=30
hosts=(localhost 127.0.0.1 ::1)
while [ $# -gt 0 ]; do
    case "$1" in
        --directory) directory=${2:?which directory} && shift 2 ;;
        --days) days=${2:?how many} && shift 2 ;;
        -*) sed -n '2,7s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
        *) hosts+=("$1") && shift ;;
    esac
done
[ ! -e "$directory" ] || { echo "$directory is there already; remove it first" >&2 && exit 1; }

# The purpose "device of a Carillon gateway": the same number as in Sources/TLS/Certificate.swift.
device_purpose=2.25.257240225426115637098521358189127568828

names=
for host in "${hosts[@]}"; do
    if [[ $host == *:* || $host =~ ^[0-9.]+$ ]]; then names+=,IP:$host; else names+=,DNS:$host; fi
done

mkdir -p "$directory"
cd "$directory"

# Own sections, not the distribution's openssl.cnf: its defaults would add extensions a second time.
cat >openssl.cnf <<CONFIG
[req]
distinguished_name = subject
prompt = no
[subject]
[authority]
basicConstraints = critical, CA:TRUE, pathlen:0
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[server]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid:always
subjectAltName = ${names#,}
[device]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = $device_purpose
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid:always
CONFIG

make_key() {
    openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1.key"
}

# A key, and a certificate signed by the authority: issue NAME SUBJECT, where NAME is also the section above.
issue() {
    make_key "$1"
    openssl req -new -config openssl.cnf -key "$1.key" -subj "$2" |
        openssl x509 -req -CA ca.pem -CAkey ca.key -days "$days" -extfile openssl.cnf -extensions "$1" \
            -out "$1.pem" 2>/dev/null
}

make_key ca
openssl req -x509 -config openssl.cnf -extensions authority -key ca.key -subj "/CN=Carillon throw-away CA" \
    -days "$days" -out ca.pem
issue server "/CN=Carillon/OU=Server"
issue device "/CN=throw-away device/OU=Device"

rm openssl.cnf
openssl verify -CAfile ca.pem -purpose sslserver server.pem >/dev/null
echo "$PWD: ca.pem ca.key server.pem server.key device.pem device.key, good for $days days"
