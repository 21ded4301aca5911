//! Who is let in: passwords, nkeys, JWTs, certificates; each right and wrong, against real servers.
#![allow(clippy::unwrap_used)]

#[path = "support/mod.rs"]
mod support;

use std::path::{Path, PathBuf};

use candor_fleet::{Broker, Error, Fleet};
use data_encoding::BASE64URL_NOPAD;
use nkeys::{KeyPair, KeyPairType};
use serde_json::{Value, json};
use support::Server;
use support::campaign::{broker, refused};

#[test]
fn passwords_and_nkeys() {
    let server = Server::with(
        "jetstream { store_dir: \"STORE\" }\nauthorization { user: me, password: secret }\n",
    );
    let error = refused(&broker(server.url()));
    assert!(matches!(error, Error::Credentials { .. }), "{error}");
    let with = |password: &str| Broker {
        user: Some(("me".into(), password.into())),
        ..broker(server.url())
    };
    let error = refused(&with("wrong"));
    assert!(matches!(error, Error::Credentials { .. }), "{error}");
    Fleet::connect(&with("secret")).unwrap();

    // The pair is from the documentation of NATS.
    let server = Server::with(
        "jetstream { store_dir: \"STORE\" }\nauthorization { users: [ { nkey: \
         UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4 } ] }\n",
    );
    let seed = server.folder().join("seed");
    let with = |path: &Path| Broker {
        nkey: Some(path.to_owned()),
        ..broker(server.url())
    };
    std::fs::write(
        &seed,
        "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY\n",
    )
    .unwrap();
    Fleet::connect(&with(&seed)).unwrap();
    std::fs::write(&seed, "nonsense").unwrap();
    let error = refused(&with(&seed));
    assert!(matches!(error, Error::Credentials { .. }), "{error}");
    let error = refused(&with(Path::new("/nonexistent")));
    assert!(error.to_string().contains("/nonexistent"), "{error}");
    let error = refused(&Broker {
        creds: Some(seed),
        ..broker(server.url())
    });
    assert!(matches!(error, Error::File { .. }), "{error}");
}

/// A key that is the same each time.
fn key(sort: KeyPairType, number: u8) -> KeyPair {
    KeyPair::new_from_raw(sort, [number; 32]).unwrap()
}

/// What `nsc` would make: claims about `subject`, signed by `issuer`.
fn jwt(issuer: &KeyPair, subject: &KeyPair, expires: Option<u64>, nats: &Value) -> String {
    let mut claims = json!({
        "jti": "candor", "iat": 1_700_000_000, "name": "candor",
        "iss": issuer.public_key(), "sub": subject.public_key(), "nats": nats,
    });
    if let Some(expires) = expires {
        claims["exp"] = expires.into();
    }
    let header = json!({"typ": "JWT", "alg": "ed25519-nkey"});
    let part = |value: &Value| BASE64URL_NOPAD.encode(value.to_string().as_bytes());
    let signed = format!("{}.{}", part(&header), part(&claims));
    let signature = issuer.sign(signed.as_bytes()).unwrap();
    format!("{signed}.{}", BASE64URL_NOPAD.encode(&signature))
}

#[test]
fn jwts_good_expired_and_of_another_account() {
    let (operator, account) = (key(KeyPairType::Operator, 1), key(KeyPairType::Account, 2));
    let (user, stranger) = (key(KeyPairType::User, 3), key(KeyPairType::Account, 4));
    let system = key(KeyPairType::Account, 5);
    let of_operator = json!({"type": "operator", "version": 2});
    let unlimited = json!({
        "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true, "conn": -1, "leaf": -1,
    });
    let mut of_account = json!({"type": "account", "version": 2, "limits": unlimited});
    for limit in ["mem_storage", "disk_storage", "streams", "consumer"] {
        of_account["limits"][limit] = (-1).into();
    }
    let of_user = json!({"type": "user", "version": 2, "subs": -1, "data": -1, "payload": -1});
    let server = Server::with(&format!(
        "operator: {}\nsystem_account: {}\nresolver: MEMORY\nresolver_preload: {{ {}: {}, {}: {} }}\njetstream {{ store_dir: \"STORE\" }}\n",
        jwt(&operator, &operator, None, &of_operator),
        system.public_key(),
        system.public_key(),
        jwt(
            &operator,
            &system,
            None,
            &json!({"type": "account", "version": 2, "limits": unlimited})
        ),
        account.public_key(),
        jwt(&operator, &account, None, &of_account),
    ));
    let with = |name: &str, jwt: &str| {
        let path = server.folder().join(name);
        let text = format!(
            "-----BEGIN NATS USER JWT-----\n{jwt}\n------END NATS USER JWT------\n\n\
             -----BEGIN USER NKEY SEED-----\n{}\n------END USER NKEY SEED------\n",
            user.seed().unwrap()
        );
        std::fs::write(&path, text).unwrap();
        Broker {
            creds: Some(path),
            ..broker(server.url())
        }
    };
    let good = with("good", &jwt(&account, &user, None, &of_user));
    assert_eq!(Fleet::connect(&good).unwrap().campaigns().unwrap(), [""; 0]);
    let expired = jwt(&account, &user, Some(1_700_000_001), &of_user);
    let other = jwt(&stranger, &user, None, &of_user);
    for (name, jwt) in [("expired", expired), ("other", other)] {
        let error = refused(&with(name, &jwt));
        assert!(
            matches!(error, Error::Credentials { .. }),
            "{name}: {error}"
        );
        assert!(error.to_string().contains("--creds"), "{error}");
    }
    let error = refused(&broker(server.url()));
    assert!(matches!(error, Error::Credentials { .. }), "{error}");
}

/// A file of `tests/tls`.
fn tls(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tls");
    folder.join(name)
}

fn serve(certificate: &str, more: &str) -> Server {
    Server::with(&format!(
        "jetstream {{ store_dir: \"STORE\" }}\ntls {{ cert_file: \"{}\", key_file: \"{}\" {more} }}\n",
        tls(certificate).display(),
        tls("server.key").display()
    ))
}

#[test]
fn certificates_good_expired_and_of_nobody_we_know() {
    let to = |server: &Server, ca: bool| Broker {
        url: format!("tls://localhost:{}", server.port),
        ca: ca.then(|| tls("ca.pem")),
        ..Broker::default()
    };
    let good = serve("server.pem", "");
    Fleet::connect(&to(&good, true)).unwrap();
    let unknown = refused(&to(&good, false));
    assert!(matches!(unknown, Error::Certificate { .. }), "{unknown}");
    let expired = serve("expired.pem", "");
    let error = refused(&to(&expired, true));
    assert!(matches!(error, Error::Certificate { .. }), "{error}");
    assert!(
        error.to_string().to_lowercase().contains("expired"),
        "{error}"
    );
    // Plain words to a server that wants TLS, and TLS to one that has none.
    let plain = Server::start();
    let error = refused(&to(&plain, true));
    assert!(error.to_string().contains("localhost"), "{error}");
}

#[test]
fn workers_show_certificates_of_their_own() {
    let wants = format!(", ca_file: \"{}\", verify: true", tls("ca.pem").display());
    let server = serve("server.pem", &wants);
    let with = |certificate: Option<&str>| Broker {
        url: format!("tls://localhost:{}", server.port),
        ca: Some(tls("ca.pem")),
        certificate: certificate.map(|name| (tls(name), tls("worker.key"))),
        ..Broker::default()
    };
    Fleet::connect(&with(Some("worker.pem"))).unwrap();
    for wrong in [None, Some("stranger.pem"), Some("old.pem")] {
        let error = refused(&with(wrong));
        assert!(
            matches!(error, Error::OwnCertificate { .. }),
            "{wrong:?}: {error}"
        );
        assert!(error.to_string().contains("--tls-cert"), "{error}");
    }
    let missing = Broker {
        certificate: Some((tls("worker.pem"), tls("nobody.key"))),
        ..with(None)
    };
    let error = refused(&missing);
    assert!(error.to_string().contains("nobody.key"), "{error}");
}
