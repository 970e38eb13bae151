use frond_account::nkey::{Role, is_public_key};
use frond_clock::Now;
use frond_config::Resolver;
use frond_wire::Message;

use crate::Node;

impl Node {
    /// Another server compares: it gets all we have, one by one, and an empty message; only that
    /// when its hash is ours.
    pub(super) fn pack_for(&mut self, now: Now, reply: Option<&str>, theirs: &[u8]) {
        let (Some(reply), Some(claims)) = (reply, &self.claims) else {
            return;
        };
        if theirs != claims.shelf.hash() {
            let wall_s = now.wall.as_nanos() / 1_000_000_000;
            let lines: Vec<String> = claims
                .shelf
                .holding(wall_s)
                .map(|(key, text)| format!("{key}|{text}"))
                .collect();
            for line in lines {
                self.say(now, reply, line.as_bytes());
            }
        }
        self.say(now, reply, &[]);
    }

    /// What another server has: newer JWTs take the place of ours.
    pub(super) fn merge(&mut self, now: Now, body: &[u8]) {
        let pack = String::from_utf8_lossy(body).into_owned();
        for line in pack.lines().filter(|line| !line.is_empty()) {
            if let Err(why) = self.merge_one(now, line) {
                return self.warn(format!("DirResolver - Merging resulted in error: {why}"));
            }
        }
    }

    fn merge_one(&mut self, now: Now, line: &str) -> Result<(), String> {
        let Some((key, text)) = line.split_once('|').filter(|(_, text)| !text.contains('|')) else {
            return Err(format!(
                "line in package didn't contain 2 entries: {line:?}"
            ));
        };
        if !is_public_key(Role::Account, key) {
            return Err("key to merge is not a valid public account key".to_owned());
        }
        let Some(claims) = &self.claims else {
            return Ok(());
        };
        if claims.shelf.wants(key, text)? && self.shelve(now, key, text) {
            self.changed(now, key, text);
        }
        Ok(())
    }

    pub(super) fn compare(&mut self, now: Now) {
        let Some(claims) = &mut self.claims else {
            return;
        };
        let Resolver::Full { interval, .. } = &claims.resolver else {
            return;
        };
        if claims.compare_at.is_none_or(|at| at > now.mono) {
            return;
        }
        claims.compare_at = Some(now.mono + *interval);
        let reply = format!("{}.PACK", claims.inbox);
        let hash = *claims.shelf.hash();
        let message = Message {
            subject: "$SYS.REQ.CLAIMS.PACK",
            reply: Some(&reply),
            header: &[],
            payload: &hash,
        };
        let system = self.broker.directory().system_account();
        self.broker.publish_internal(now, system, &message, None);
    }
}
