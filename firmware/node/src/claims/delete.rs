use frond_account::jwt::{GenericClaims, decode_generic};
use frond_account::nkey::{Role, is_public_key};
use frond_clock::Now;
use frond_config::Deletion;
use serde_json::Value;

use super::ClaimsWish;
use super::reply::Pending;
use crate::{Node, Output};

impl Node {
    /// `$SYS.REQ.CLAIMS.DELETE`: the body is signed by the operator.
    ///
    /// spec: nats-server v2.15.1 server/accounts.go `handleDeleteRequest`
    pub(super) fn delete_accounts(&mut self, now: Now, reply: Option<&str>, body: &[u8]) {
        let text = String::from_utf8_lossy(body);
        let claims = decode_generic(&text);
        let by = claims.as_ref().map_or("", |claims| claims.subject.as_str());
        let failed = format!("delete accounts request by {by} failed");
        let keys = match &claims {
            Ok(claims) => self.deletable(claims).map_err(str::to_owned),
            Err(why) => Err(why.to_string()),
        };
        let keys = match keys {
            Ok(keys) => keys,
            Err(why) => return self.respond(now, reply, "", &failed, Err(&why)),
        };
        let done = format!("deleted {} accounts", keys.len());
        let mut last = None;
        for key in &keys {
            last = self.delete_account(now, key).or(last);
        }
        // The disk works in order: when the last is gone, all are.
        match (last, &mut self.claims) {
            (Some(ticket), Some(claims)) => {
                let pending = Pending {
                    reply: reply.map(str::to_owned),
                    account: String::new(),
                    failed: done.clone(),
                    done,
                };
                claims.pending.insert(ticket, pending);
            }
            (None, _) | (_, None) => self.respond(now, reply, "", &done, Ok(())),
        }
    }

    fn deletable(&self, claims: &GenericClaims) -> Result<Vec<String>, &'static str> {
        let kept = self.claims.as_ref().map(super::Claims::deletion);
        if kept.is_none_or(|deletion| deletion == Deletion::Refused) {
            return Err("delete must be enabled in server config");
        }
        if !claims.is_self_signed() {
            return Err("not self signed");
        }
        let operator = self.authority.operators.first();
        let trusted = operator.is_some_and(|operator| {
            let strict = operator.nats.strict_signing_key_usage;
            (operator.subject == claims.issuer && !strict)
                || operator.nats.signing_keys.contains(&claims.issuer)
        });
        if !trusted {
            return Err("not trusted");
        }
        let Some(Value::Array(list)) = claims.nats.get("accounts") else {
            return Err("malformed request");
        };
        let system = self.authority.system_account.as_deref();
        let mut keys = Vec::new();
        for entry in list {
            match entry.as_str() {
                Some(key) if is_public_key(Role::Account, key) => {
                    if Some(key) == system {
                        return Err("not allowed to delete system account");
                    }
                    keys.push(key.to_owned());
                }
                Some(_) | None => return Err("malformed request"),
            }
        }
        Ok(keys)
    }

    /// The ticket of the disk's part, if it has one.
    fn delete_account(&mut self, now: Now, key: &str) -> Option<u64> {
        let claims = self.claims.as_mut()?;
        if !claims.shelf.remove(key) {
            return None;
        }
        let ticket = claims.ticket();
        let renames = claims.deletion() == Deletion::Renames;
        self.outputs.push_back(Output::Claims(ClaimsWish::Remove {
            ticket,
            key: key.to_owned(),
            renames,
        }));
        self.broker.delete_claims(now, key);
        self.serve_accounts();
        Some(ticket)
    }
}
