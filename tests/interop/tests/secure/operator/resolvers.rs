//! Where accounts come from, over TLS and after a reload.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use frond_account::nkey::Role;
use interop::{Kind, Pki, Server, Setup, python, wait_for, wait_for_async};

use super::realm::{Realm, key, user_of};
use super::{BOTH, BOUND, ask, heard, told, watched, works};

/// A folder over https for those who show a certificate of the authority: folder, certificate,
/// key, authority.
const HTTPS: &str = r#"
import functools, http.server, ssl, sys
folder, cert, key, ca = sys.argv[1:]
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(cert, key)
context.load_verify_locations(ca)
context.verify_mode = ssl.CERT_REQUIRED
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_address[1], flush=True)
server.serve_forever()
"#;

struct Https(Child);

impl Drop for Https {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn serve(folder: &std::path::Path, pki: &Pki) -> (Https, String) {
    let files = ["server.pem", "server.key", "ca.pem"].map(|name| pki.file(name));
    let mut child = Command::new(python())
        .args(["-c", HTTPS])
        .arg(folder)
        .args(files)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut port = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut port)
        .unwrap();
    (Https(child), format!("https://localhost:{}/", port.trim()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_url_is_asked_over_tls_with_a_certificate() {
    let (realm, pki) = (Realm::new(), Pki::new("resolver"));
    pki.server("server");
    pki.client("frond", &[], Vec::new());
    let folder = tempfile::tempdir().unwrap();
    for (account, jwt) in [
        (&realm.account, realm.account_jwt(|_| {})),
        (&realm.system, realm.system_jwt()),
    ] {
        std::fs::write(folder.path().join(account.public_key()), jwt).unwrap();
    }
    let (_https, url) = serve(folder.path(), &pki);
    for kind in BOTH {
        let config = format!(
            "listen: \"127.0.0.1:-1\"\noperator: {}\nresolver: URL({url})\nresolver_tls {{ {} }}\n",
            realm.operator_jwt(),
            pki.block("frond")
        );
        let server = Server::start(kind, &Setup::config(&config));
        let user = realm.user(|_| {});
        assert!(works(&user.connect(&server).await).await, "{kind:?}");
        let stranger = key(Role::Account, 9);
        let stranger = user_of(&stranger, &stranger, |_| {});
        assert!(!stranger.is_let_in(&server).await, "{kind:?}: no such file");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_reads_preloaded_accounts_again_and_takes_another_resolver() {
    for kind in BOTH {
        let realm = Realm::new();
        let name = realm.account.public_key();
        // One and the same operator JWT: another one is refused.
        let operator = realm.operator_jwt();
        let config = |accounts: &[(&String, String)], rest: &str| {
            let preload: String = accounts
                .iter()
                .map(|(key, jwt)| format!("{key}: {jwt}\n"))
                .collect();
            let system = (realm.system.public_key(), realm.system_jwt());
            format!(
                "listen: \"127.0.0.1:-1\"\noperator: {operator}\nresolver_preload {{\n{}: {}\n{preload}}}\n{rest}",
                system.0, system.1
            )
        };
        let memory = "resolver: MEMORY\n";
        let first = config(&[(&name, realm.account_jwt(|_| {}))], memory);
        let server = Server::start(kind, &Setup::config(&first));
        let (user, other) = (realm.user(|_| {}), realm.user(|_| {}));
        let (_client, mut seen) = watched(&user, &server).await;
        let bystander = other.connect(&server).await;

        let revoking = realm.account_jwt(|claims| {
            let until = super::now_s() + 1;
            claims.nats.revocations.insert(user.key.public_key(), until);
        });
        server.reload(&config(&[(&name, revoking.clone())], memory));
        heard(&mut seen, "revoked").await;
        assert!(works(&bystander).await, "{kind:?}: others stay");

        let shop = key(Role::Account, 7);
        let shop_name = shop.public_key();
        let accounts = [(&name, revoking), (&shop_name, realm.jwt_of(&shop, |_| {}))];
        let full = "resolver: { type: full, dir: \"$DIR/jwt\" }\n";
        server.reload(&config(&accounts, full));
        let clerk = user_of(&shop, &shop, |_| {});
        wait_for_async("the other resolver's account", BOUND, async || {
            clerk.is_let_in(&server).await.then_some(())
        })
        .await;
        assert!(works(&bystander).await, "{kind:?}: others stay");
        let file = server.dir().join(format!("jwt/{shop_name}.jwt"));
        wait_for("the preloaded account's file", BOUND, || {
            file.exists().then_some(())
        });
        if kind == Kind::Leaf {
            // A reload is a restart here; nats-server only listens after a restart.
            let admin = realm.admin().connect(&server).await;
            let jwt = realm.jwt_of(&shop, |claims| claims.name = "SHOP".into());
            let pushed = ask(&admin, "$SYS.REQ.CLAIMS.UPDATE", jwt).await;
            assert_eq!(pushed, told(&shop_name, "jwt updated"));
        }

        let renamed = config(&accounts, full).replace(&operator, &realm.renamed_operator_jwt());
        server.reload(&renamed);
        wait_for("the refusal of another operator", BOUND, || {
            server
                .log()
                .contains("config reload not supported for TrustedOperators")
                .then_some(())
        });
    }
}
