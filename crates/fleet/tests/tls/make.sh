#!/bin/sh
# Makes the certificates of the tests anew. The keys protect nothing: they are public.
set -eu
cd "$(dirname "$0")"
openssl ecparam -name prime256v1 -genkey -noout -out ca.key
openssl req -x509 -new -key ca.key -subj "/CN=candor test authority" -days 36500 -out ca.pem
openssl ecparam -name prime256v1 -genkey -noout -out server.key
openssl req -new -key server.key -subj "/CN=localhost" -out server.csr
printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\n' > names
openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 36500 -extfile names -out server.pem
# A worker's own certificate, and one of somebody whom nobody knows.
openssl ecparam -name prime256v1 -genkey -noout -out worker.key
openssl req -new -key worker.key -subj "/CN=worker" -out worker.csr
printf 'extendedKeyUsage=clientAuth\n' > use
openssl x509 -req -in worker.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 36500 -extfile use -out worker.pem
# Version 1 of the format, which the TLS library does not take.
openssl x509 -req -in worker.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 36500 -out old.pem
openssl req -x509 -new -key worker.key -subj "/CN=stranger" -days 36500 -out stranger.pem
# Valid for one day of 2020.
mkdir -p demo && : > demo/index && echo 01 > demo/serial
cat > demo/conf <<'C'
[ca]
default_ca = a
[a]
dir = demo
database = demo/index
serial = demo/serial
new_certs_dir = demo
default_md = sha256
policy = p
copy_extensions = copy
[p]
commonName = supplied
C
openssl ca -batch -config demo/conf -in server.csr -cert ca.pem -keyfile ca.key -extfile names \
  -startdate 20200101000000Z -enddate 20200102000000Z -notext -out expired.pem
rm -rf demo names use server.csr worker.csr ca.srl ca.key
