use frond_account::{AccountId, Permissions, SubjectRules};
use frond_broker::Source;
use frond_clock::Now;
use frond_wire::{Message, go_json};
use serde::Serialize;

use crate::Node;

use super::pending::Asker;

/// Who a client is, as it is told itself.
///
/// spec: nats-server v2.15.1 server/events.go `UserInfo`
#[derive(Serialize)]
struct UserInfo {
    user: String,
    account: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    account_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    permissions: Option<Allowed>,
}

#[derive(Serialize)]
struct Allowed {
    publish: Rules,
    subscribe: Rules,
    #[serde(skip_serializing_if = "Option::is_none")]
    responses: Option<Responses>,
}

#[derive(Serialize)]
struct Rules {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    allow: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    deny: Vec<String>,
}

/// `ttl` in nanoseconds.
#[derive(Serialize)]
struct Responses {
    max: i64,
    ttl: i64,
}

impl Node {
    /// Only the server that the client is connected to knows.
    pub(crate) fn answer_user_info(
        &mut self,
        now: Now,
        account: AccountId,
        message: &Message<'_>,
        from: Source,
    ) {
        let conn = match from {
            Source::Client(conn) => conn,
            Source::Internal | Source::Link { .. } => return,
        };
        let (Some(asker), Some(client)) = (Asker::of(account, message), self.broker.client(conn))
        else {
            return;
        };
        let name = client.account.map(|account| self.account_name(account));
        let name = name.unwrap_or_default();
        let info = UserInfo {
            user: client.user,
            account: name.clone(),
            account_name: name,
            permissions: self.broker.permissions(conn).map(Allowed::of),
        };
        self.send_document(now, &asker, go_json::to_string(&info));
    }
}

impl Allowed {
    fn of(permissions: &Permissions) -> Self {
        Self {
            publish: Rules::of(&permissions.publish),
            subscribe: Rules::of(&permissions.subscribe),
            responses: permissions.allow_responses.map(|rule| Responses {
                max: rule.max_msgs.map_or(-1, i64::from),
                ttl: rule.expires.map_or(-1, |life| {
                    i64::try_from(life.as_nanos()).unwrap_or(i64::MAX)
                }),
            }),
        }
    }
}

impl Rules {
    fn of(rules: &SubjectRules) -> Self {
        let texts = |list: &[Box<str>]| list.iter().map(ToString::to_string).collect();
        Self {
            allow: texts(&rules.allow),
            deny: texts(&rules.deny),
        }
    }
}
