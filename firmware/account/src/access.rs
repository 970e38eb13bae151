use std::collections::HashMap;
use std::sync::Arc;

use frond_subject::{is_literal, is_subset, overlaps};

use crate::limits::CACHED_SUBJECTS_MAX;
use crate::{AllowResponses, Permissions};

/// A user's permissions, ready to be asked often.
///
/// spec: nats-server v2.15.1 server/client.go `canSubscribe`, `pubAllowedFullCheck`.
#[derive(Clone, Debug)]
pub struct Access {
    permissions: Arc<Permissions>,
    published: HashMap<Box<str>, bool>,
}

impl Access {
    /// Rules without any answer remembered yet.
    #[must_use]
    pub fn new(permissions: Arc<Permissions>) -> Self {
        Self {
            permissions,
            published: HashMap::new(),
        }
    }

    /// What the user was given.
    #[must_use]
    pub fn permissions(&self) -> &Permissions {
        &self.permissions
    }

    /// How many answers to received requests are allowed besides the publish rules.
    #[must_use]
    pub fn allow_responses(&self) -> Option<AllowResponses> {
        self.permissions.allow_responses
    }

    /// Whether the rules let the user publish on this subject; answers to requests are
    /// the session's matter.
    pub fn may_publish(&mut self, subject: &str) -> bool {
        if let Some(answer) = self.published.get(subject) {
            return *answer;
        }
        let answer = self.permissions.may_publish(subject);
        if self.published.len() >= CACHED_SUBJECTS_MAX {
            self.published.clear();
        }
        self.published.insert(subject.into(), answer);
        answer
    }
}

impl Permissions {
    /// Whether publishing on `subject` is allowed. With `allow_responses` and no allow list
    /// nothing but answers is.
    #[must_use]
    pub fn may_publish(&self, subject: &str) -> bool {
        let rules = &self.publish;
        let allowed = if rules.allow.is_empty() {
            self.allow_responses.is_none()
        } else {
            rules.allow.iter().any(|filter| is_subset(subject, filter))
        };
        allowed && !rules.deny.iter().any(|filter| denies(filter, subject))
    }

    /// Whether subscribing `filter`, alone or in a queue group, is allowed.
    #[must_use]
    pub fn may_subscribe(&self, filter: &str, queue: Option<&str>) -> bool {
        let rules = &self.subscribe;
        let allowed = rules.allow.is_empty() || {
            let found = Found::among(&rules.allow, filter, queue, is_subset);
            found.queue.unwrap_or(found.plain)
        };
        allowed
            && Found::among(&rules.deny, filter, queue, |said, deny| denies(deny, said))
                .denies_nothing()
    }

    /// Whether messages for a subscription to `filter`, alone or in a queue group, must be
    /// checked one by one with [`Permissions::may_receive`].
    ///
    /// spec: nats-server v2.15.1 server/client.go `loadMsgDenyFilterIfNeeded`
    #[must_use]
    pub fn must_filter(&self, filter: &str, queue: Option<&str>) -> bool {
        let mut denies = self.subscribe.deny.iter().filter_map(|deny| parts(deny));
        !is_literal(filter)
            && denies
                .any(|(deny, named)| (named.is_none() || queue.is_some()) && overlaps(deny, filter))
    }

    /// Whether no deny forbids to receive this subject, as a member of `queue` if there is one.
    ///
    /// spec: nats-server v2.15.1 server/client.go `checkDenySub`
    #[must_use]
    pub fn may_receive(&self, subject: &str, queue: Option<&str>) -> bool {
        Found::among(&self.subscribe.deny, subject, queue, |said, deny| {
            denies(deny, said)
        })
        .denies_nothing()
    }
}

/// What a list of `"subject"` and `"subject queue"` entries says about a subscription.
struct Found {
    plain: bool,
    /// Whether the queue is among those named, when any entry with a queue matched;
    /// in an allow list such entries decide alone.
    queue: Option<bool>,
}

impl Found {
    fn among(
        entries: &[Box<str>],
        filter: &str,
        queue: Option<&str>,
        fits: impl Fn(&str, &str) -> bool,
    ) -> Self {
        let mut found = Self {
            plain: false,
            queue: None,
        };
        for entry in entries {
            let Some((subject, named)) = parts(entry) else {
                continue;
            };
            if !fits(filter, subject) {
                continue;
            }
            match (named, queue) {
                (None, _) => found.plain = true,
                (Some(_), None) => {}
                (Some(named), Some(queue)) => {
                    found.queue = Some(found.queue == Some(true) || is_subset(queue, named));
                }
            }
        }
        found
    }

    /// Of a deny list.
    fn denies_nothing(&self) -> bool {
        !self.plain && self.queue != Some(true)
    }
}

/// Whether `deny` is about `said` word by word: wildcards there are words like others, so that
/// `foo.*` denies to ask for `foo.>`.
///
/// spec: nats-server v2.15.1 server/client.go `canSubscribe`
fn denies(deny: &str, said: &str) -> bool {
    let mut said = said.split('.');
    for token in deny.split('.') {
        match (token, said.next()) {
            (_, None) => return false,
            (">", Some(_)) => return true,
            ("*", Some(_)) => {}
            (token, Some(other)) if token == other => {}
            (_, Some(_)) => return false,
        }
    }
    said.next().is_none()
}

/// The subject of an entry and the queue it is about.
fn parts(entry: &str) -> Option<(&str, Option<&str>)> {
    let mut words = entry.split_ascii_whitespace();
    Some((words.next()?, words.next()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SubjectRules;

    fn rules(allow: &[&str], deny: &[&str]) -> SubjectRules {
        SubjectRules {
            allow: allow.iter().map(|text| (*text).into()).collect(),
            deny: deny.iter().map(|text| (*text).into()).collect(),
        }
    }

    #[test]
    fn a_deny_wins_and_an_empty_allow_allows() {
        let permissions = Permissions {
            publish: rules(&["ok.>"], &["ok.no", "ok.*.no"]),
            ..Permissions::default()
        };
        let mut access = Access::new(Arc::new(permissions));
        for _ in 0..2 {
            assert!(access.may_publish("ok.a") && access.may_publish("ok.a.b"));
            assert!(!access.may_publish("ok.no") && !access.may_publish("ok.a.no"));
            assert!(!access.may_publish("ok") && !access.may_publish("x"));
        }
        assert!(Permissions::default().may_publish("any"));
    }

    #[test]
    fn allow_responses_without_a_list_denies_the_rest() {
        let mut permissions = Permissions {
            allow_responses: Some(AllowResponses {
                max_msgs: Some(1),
                expires: None,
            }),
            ..Permissions::default()
        };
        assert!(!permissions.may_publish("any"));
        permissions.publish = rules(&["a"], &[]);
        assert!(permissions.may_publish("a") && !permissions.may_publish("b"));
    }

    #[test]
    fn a_wildcard_that_is_asked_for_is_denied_as_a_word() {
        let permissions = Permissions {
            subscribe: rules(&[], &["foo.*", "*"]),
            publish: rules(&[], &["foo.*"]),
            ..Permissions::default()
        };
        for (filter, allowed) in [
            ("foo.>", false),
            (">", false),
            ("foo.*", false),
            ("*", false),
            ("*.a", true),
            ("foo.a.>", true),
            ("bar.>", true),
        ] {
            assert_eq!(permissions.may_subscribe(filter, None), allowed, "{filter}");
        }
        assert!(!permissions.may_publish("foo.>") && permissions.may_publish("foo"));
    }

    #[test]
    fn queue_entries_decide_for_queue_groups() {
        let permissions = Permissions {
            subscribe: rules(&["ok.>", "w.* grp", "w.* v1.*"], &["ok.x bad"]),
            ..Permissions::default()
        };
        for (filter, queue, allowed) in [
            ("ok.a", None, true),
            ("ok.>", None, true),
            (">", None, false),
            ("ok.a", Some("any"), true),
            ("w.a", None, false),
            ("w.a", Some("grp"), true),
            ("w.a", Some("v1.x"), true),
            ("w.a", Some("other"), false),
            ("ok.x", Some("bad"), false),
            ("ok.x", Some("good"), true),
        ] {
            assert_eq!(
                permissions.may_subscribe(filter, queue),
                allowed,
                "{filter} {queue:?}"
            );
        }
    }

    #[test]
    fn a_wildcard_over_a_deny_is_filtered_message_by_message() {
        let permissions = Permissions {
            subscribe: rules(&[], &["a.secret", "b.> q"]),
            ..Permissions::default()
        };
        assert!(permissions.may_subscribe("a.*", None) && permissions.must_filter("a.*", None));
        assert!(!permissions.may_subscribe("a.secret", None));
        assert!(!permissions.must_filter("c.*", None) && !permissions.must_filter("a.b", None));
        assert!(permissions.may_receive("a.b", None) && !permissions.may_receive("a.secret", None));
    }

    #[test]
    fn a_deny_for_a_group_holds_under_its_wildcards() {
        let permissions = Permissions {
            subscribe: rules(&[], &["b.> bad", "c.* v1.*"]),
            ..Permissions::default()
        };
        for queue in ["bad", "v1.x"] {
            assert!(permissions.may_subscribe(">", Some(queue)));
            assert!(permissions.must_filter(">", Some(queue)));
        }
        assert!(
            !permissions.must_filter(">", None) && !permissions.must_filter("a.*", Some("bad"))
        );
        for (subject, queue, allowed) in [
            ("b.x", Some("bad"), false),
            ("b.x", Some("good"), true),
            ("b.x", None, true),
            ("c.x", Some("v1.x"), false),
            ("c.x", Some("bad"), true),
        ] {
            let may = permissions.may_receive(subject, queue);
            assert_eq!(may, allowed, "{subject} {queue:?}");
        }
    }

    #[test]
    fn the_cache_is_bounded() {
        let mut access = Access::new(Arc::new(Permissions::default()));
        for n in 0..1000 {
            access.may_publish(&format!("s.{n}"));
        }
        assert!(access.published.len() <= CACHED_SUBJECTS_MAX);
    }
}
