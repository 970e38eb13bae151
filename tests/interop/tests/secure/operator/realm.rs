//! An operator with a system account and one more, and who belongs to them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use async_nats::{Client, ConnectOptions};
use data_encoding::BASE64URL_NOPAD;
use frond_account::jwt::{
    AccountClaims, JetStreamLimits, OperatorClaims, OperatorLimits, UserClaims,
    UserPermissionLimits,
};
use frond_account::nkey::{KeyPair, Role};
use interop::Server;

/// Keys are numbers: the same realm in every test.
pub(crate) struct Realm {
    pub(crate) operator: KeyPair,
    pub(crate) system: KeyPair,
    pub(crate) account: KeyPair,
    pub(crate) signer: KeyPair,
}

/// A user's JWT and its key.
#[derive(Clone)]
pub(crate) struct Creds {
    pub(crate) jwt: String,
    pub(crate) key: Arc<KeyPair>,
}

impl Realm {
    pub(crate) fn new() -> Self {
        Self {
            operator: key(Role::Operator, 1),
            system: key(Role::Account, 2),
            account: key(Role::Account, 3),
            signer: key(Role::Account, 4),
        }
    }

    pub(crate) fn operator_jwt(&self) -> String {
        let mut claims = OperatorClaims::about(&self.operator.public_key());
        claims.issued_at = now_s();
        claims.nats.system_account = self.system.public_key();
        claims.encode(&self.operator).unwrap()
    }

    /// The operator with a name it did not have.
    pub(crate) fn renamed_operator_jwt(&self) -> String {
        let mut claims = OperatorClaims::about(&self.operator.public_key());
        claims.name = "renamed".into();
        claims.nats.system_account = self.system.public_key();
        claims.encode(&self.operator).unwrap()
    }

    /// The account's JWT.
    pub(crate) fn account_jwt(&self, change: impl FnOnce(&mut AccountClaims)) -> String {
        self.jwt_of(&self.account, |claims| {
            claims.name = "ACME".into();
            claims.nats.limits.jetstream = JetStreamLimits {
                mem_storage: -1,
                disk_storage: -1,
                streams: -1,
                consumer: -1,
                ..JetStreamLimits::default()
            };
            change(claims);
        })
    }

    pub(crate) fn system_jwt(&self) -> String {
        self.jwt_of(&self.system, |claims| claims.name = "SYS".into())
    }

    pub(crate) fn jwt_of(
        &self,
        account: &KeyPair,
        change: impl FnOnce(&mut AccountClaims),
    ) -> String {
        let mut claims = AccountClaims::about(&account.public_key());
        claims.issued_at = now_s();
        claims.nats.limits = OperatorLimits::unlimited();
        change(&mut claims);
        claims.encode(&self.operator).unwrap()
    }

    /// A request to delete accounts, signed by the operator.
    pub(crate) fn deletion(&self, accounts: &[String]) -> String {
        let key = self.operator.public_key();
        let claims = serde_json::json!({
            "jti": "X",
            "iat": now_s(),
            "iss": key,
            "sub": key,
            "nats": { "accounts": accounts },
        });
        let part = |text: &str| BASE64URL_NOPAD.encode(text.as_bytes());
        let head = part(r#"{"typ":"JWT","alg":"ed25519-nkey"}"#);
        let signed = format!("{head}.{}", part(&claims.to_string()));
        let signature = self.operator.sign(signed.as_bytes());
        format!("{signed}.{}", BASE64URL_NOPAD.encode(&signature))
    }

    /// A new user of the account.
    pub(crate) fn user(&self, change: impl FnOnce(&mut UserClaims)) -> Creds {
        user_of(&self.account, &self.account, change)
    }

    pub(crate) fn admin(&self) -> Creds {
        user_of(&self.system, &self.system, |_| {})
    }

    /// The start of every configuration.
    pub(crate) fn config(&self, rest: &str) -> String {
        format!(
            "listen: \"127.0.0.1:-1\"\noperator: {}\nresolver_preload {{ {}: {} }}\n{rest}",
            self.operator_jwt(),
            self.system.public_key(),
            self.system_jwt(),
        )
    }
}

/// A user whose JWT `by` signed.
pub(crate) fn user_of(
    account: &KeyPair,
    by: &KeyPair,
    change: impl FnOnce(&mut UserClaims),
) -> Creds {
    static NEXT: AtomicU8 = AtomicU8::new(100);
    let key = key(Role::User, NEXT.fetch_add(1, Ordering::Relaxed));
    let mut claims = UserClaims::about(&key.public_key());
    claims.issued_at = now_s();
    claims.name = "till".into();
    claims.nats.may = UserPermissionLimits::unlimited();
    if by.public_key() != account.public_key() {
        claims.nats.issuer_account = account.public_key();
    }
    change(&mut claims);
    Creds {
        jwt: claims.encode(by).unwrap(),
        key: Arc::new(key),
    }
}

impl Creds {
    pub(crate) fn options(&self) -> ConnectOptions {
        let key = Arc::clone(&self.key);
        ConnectOptions::with_jwt(self.jwt.clone(), move |nonce| {
            let signature = key.sign(&nonce).to_vec();
            async move { Ok(signature) }
        })
    }

    pub(crate) async fn connect(&self, server: &Server) -> Client {
        self.options().connect(server.url()).await.unwrap()
    }

    pub(crate) async fn is_let_in(&self, server: &Server) -> bool {
        self.options().connect(server.url()).await.is_ok()
    }

    /// The file that tools and remotes read.
    pub(crate) fn file(&self) -> String {
        format!(
            "-----BEGIN NATS USER JWT-----\n{}\n------END NATS USER JWT------\n\n\
             -----BEGIN USER NKEY SEED-----\n{}\n------END USER NKEY SEED------\n",
            self.jwt,
            self.key.seed()
        )
    }
}

pub(crate) fn key(role: Role, n: u8) -> KeyPair {
    KeyPair::from_random(role, &[n; 32])
}

pub(crate) fn now_s() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(since.as_secs()).unwrap()
}
