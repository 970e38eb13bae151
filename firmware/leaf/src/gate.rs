use core::cell::OnceCell;

use frond_account::{Permissions, SubjectRules};
use frond_subject::{is_subset, matches, overlaps};

use crate::loops::is_loop_subject;

/// Which of the two ends of a link this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Tells only local interest and never cuts the other off for a forbidden subject.
    Spoke,
    /// Tells all interest and enforces the permissions of the spoke's user.
    Hub,
}

/// What may cross a link, in which direction.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    role: Role,
    /// Rules of the spoke's user for what we may send.
    send: SubjectRules,
    /// Rules of the spoke's user for what we may be sent.
    receive: SubjectRules,
    /// Never sent, but asking for it is no offence.
    send_denied: Vec<Box<str>>,
    /// Never asked for; a spoke doesn't take it either.
    receive_denied: Vec<Box<str>>,
    /// Never taken, whatever the peer says it is, and no place for an answer either.
    closed: Vec<Box<str>>,
    /// What of these we are sent is of one name.
    one_name: Option<OneName>,
}

/// What a spoke says under one name only: its own, or, where it says none of its own, the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OneName {
    /// What comes before the name.
    pub(crate) begins: Vec<Box<str>>,
    pub(crate) own: Vec<Box<str>>,
    pub(crate) said: OnceCell<Box<str>>,
}

impl OneName {
    /// Whether a subject is one of those that have a name.
    fn covers(&self, subject: &str) -> bool {
        let mut begins = self.begins.iter();
        begins.any(|begin| after(begin, subject).is_some())
    }

    fn permits(&self, subject: &str) -> bool {
        let mut begins = self.begins.iter();
        let Some(name) = begins.find_map(|begin| after(begin, subject)) else {
            return true;
        };
        // More than one token is nobody's name.
        if name.contains('.') {
            return false;
        }
        let is_own = self.own.iter().any(|own| **own == *name);
        let said = self.said.get_or_init(|| name.into());
        is_own || **said == *name
    }
}

/// What comes after so many tokens, of which some are whatever they are.
fn after<'a>(begin: &str, subject: &'a str) -> Option<&'a str> {
    let mut rest = subject;
    for token in begin.split_terminator('.') {
        let (first, more) = rest.split_once('.')?;
        if token != "*" && token != first {
            return None;
        }
        rest = more;
    }
    Some(rest)
}

impl Gate {
    pub(crate) const fn open(role: Role) -> Self {
        Self {
            role,
            send: SubjectRules {
                allow: Vec::new(),
                deny: Vec::new(),
            },
            receive: SubjectRules {
                allow: Vec::new(),
                deny: Vec::new(),
            },
            send_denied: Vec::new(),
            receive_denied: Vec::new(),
            closed: Vec::new(),
            one_name: None,
        }
    }

    /// Rules for what we send and what we are sent.
    pub(crate) fn limit(&mut self, send: SubjectRules, receive: SubjectRules) {
        self.send = send;
        self.receive = receive;
    }

    /// The permissions of the user that the peer logged in as: what it publishes we receive.
    pub(crate) fn limit_peer(&mut self, permissions: &Permissions) {
        self.limit(permissions.subscribe.clone(), permissions.publish.clone());
    }

    pub(crate) fn deny_sending(&mut self, filters: impl IntoIterator<Item = impl Into<Box<str>>>) {
        self.send_denied.extend(filters.into_iter().map(Into::into));
    }

    pub(crate) fn deny_receiving(
        &mut self,
        filters: impl IntoIterator<Item = impl Into<Box<str>>>,
    ) {
        self.receive_denied
            .extend(filters.into_iter().map(Into::into));
    }

    /// What the peer never says.
    pub(crate) fn close(&mut self, filters: &[String]) {
        self.closed
            .extend(filters.iter().map(|it| it.as_str().into()));
    }

    /// What the peer says under one name only. It is not told: what it sends all the same is dropped.
    pub(crate) fn limit_names(&mut self, names: Option<OneName>) {
        self.one_name = names;
    }

    /// Whether a message on `subject` may be sent to the peer.
    pub(crate) fn may_send(&self, subject: &str) -> bool {
        let subject = strip_gateway_prefix(subject);
        is_internal_reply(subject)
            || (permits(&self.send, subject) && !denied(&self.send_denied, subject))
    }

    /// Whether a message on `subject` may be sent to members of `queue` on the other side.
    ///
    /// spec: nats-server v2.15.1 server/client.go `canSubscribe` with a queue
    pub(crate) fn may_send_to(&self, subject: &str, queue: &str) -> bool {
        !is_denied_to(&self.send.deny, subject, queue)
            && !is_denied_to(&self.send_denied, subject, queue)
    }

    /// Whether a message on `subject` may be taken for members of `queue` here.
    pub(crate) fn may_receive_for(&self, subject: &str, queue: &str) -> bool {
        !is_denied_to(&self.receive.deny, subject, queue)
            && !is_denied_to(&self.receive_denied, subject, queue)
    }

    /// Whether the peer may send a message on `subject`.
    ///
    /// A hub takes what its user may publish, also JetStream requests that it wouldn't ask for.
    pub(crate) fn may_receive(&self, subject: &str) -> bool {
        let inner = strip_gateway_prefix(subject);
        let routed = inner.len() != subject.len();
        is_internal_reply(inner)
            || self.is_open(subject)
                && match self.role {
                    Role::Hub => permits(&self.receive, inner),
                    Role::Spoke => {
                        routed
                            || (permits(&self.receive, inner)
                                && !denied(&self.receive_denied, inner))
                    }
                }
    }

    /// Whether a message is one that this peer may say at all. One that is not is no offence: a
    /// client of the peer's said it, and the peer does not know that it is kept from them.
    pub(crate) fn is_open(&self, subject: &str) -> bool {
        let inner = strip_gateway_prefix(subject);
        is_internal_reply(inner)
            || !denied(&self.closed, inner)
                && self.one_name.as_ref().is_none_or(|it| it.permits(inner))
    }

    /// Whether an answer to the peer's message may go to `reply`: whoever answers says there what
    /// the peer may not say itself.
    pub(crate) fn may_be_answered(&self, reply: &str) -> bool {
        let inner = strip_gateway_prefix(reply);
        !denied(&self.closed, inner) && !self.one_name.as_ref().is_some_and(|it| it.covers(inner))
    }

    /// Whether the peer is told that we want `filter`, for a queue group or without one.
    ///
    /// A wildcard that is wider than what is allowed is told: the peer sends what it may. Of a
    /// group that may have nothing the peer must not know: it would choose its members for
    /// messages that others could have.
    pub(crate) fn may_announce(&self, filter: &str, queue: Option<&str>) -> bool {
        bypasses(filter)
            || ((self.receive.allow.is_empty()
                || self.receive.allow.iter().any(|allow| {
                    is_subset(filter, allow) || (has_wildcard(filter) && overlaps(allow, filter))
                }))
                && !denied(&self.receive.deny, filter)
                && !denied(&self.receive_denied, filter)
                && queue.is_none_or(|queue| self.may_receive_for(filter, queue)))
    }

    /// Whether it is an offence of the peer to ask for `filter`: then it didn't enforce the
    /// permissions that it was told.
    pub(crate) fn is_offence(&self, filter: &str) -> bool {
        self.role == Role::Hub
            && !bypasses(filter)
            && !has_wildcard(filter)
            && !permits(&self.send, filter)
    }

    pub(crate) const fn role(&self) -> Role {
        self.role
    }
}

/// Denied on every link of an account that isn't the system account: each side's JetStream is
/// reached by its domain.
/// spec: nats-server v2.15.1 `denyAllClientJs` in server/jetstream_api.go
pub(crate) const JETSTREAM_DENIED: [&str; 3] = ["$JS.API.>", "$KV.>", "$OBJ.>"];

/// Denied as well between system accounts whose domains differ.
pub(crate) const JETSTREAM_CLUSTER_DENIED: [&str; 2] = ["$JSC.>", "$NRG.>"];

fn permits(rules: &SubjectRules, subject: &str) -> bool {
    (rules.allow.is_empty() || rules.allow.iter().any(|allow| matches(allow, subject)))
        && !denied(&rules.deny, subject)
}

fn denied(filters: &[Box<str>], inner: &str) -> bool {
    let begins_so = |filter: &str| match (filter.as_bytes().first(), inner.as_bytes().first()) {
        (Some(b'*' | b'>'), _) => true,
        (denied, given) => denied == given,
    };
    filters
        .iter()
        .any(|filter| begins_so(filter) && is_subset(inner, filter))
}

/// Rules with a queue group behind the subject deny that group alone.
fn is_denied_to(rules: &[Box<str>], inner: &str, queue: &str) -> bool {
    let mut scoped = rules.iter().filter_map(|rule| rule.split_once(' '));
    scoped.any(|(filter, group)| is_subset(inner, filter) && matches(group, queue))
}

fn has_wildcard(filter: &str) -> bool {
    filter.split('.').any(|token| token == "*" || token == ">")
}

/// Subjects that servers need among themselves.
fn bypasses(filter: &str) -> bool {
    is_loop_subject(filter) || filter.starts_with("$GR.") || filter.starts_with(GATEWAY_PREFIX)
}

/// Answers to service imports and acknowledgements find their way whatever is allowed.
fn is_internal_reply(subject: &str) -> bool {
    subject.starts_with("_R_.") || subject.starts_with("$JS.ACK.")
}

/// `_GR_.<6 characters>.<6 characters>.<subject>` is a reply on its way through a gateway.
fn strip_gateway_prefix(subject: &str) -> &str {
    if subject.starts_with(GATEWAY_PREFIX) {
        subject.get(GATEWAY_PREFIX.len() + 14..).unwrap_or(subject)
    } else {
        subject
    }
}

const GATEWAY_PREFIX: &str = "_GR_.";

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(allow: &[&str], deny: &[&str]) -> SubjectRules {
        SubjectRules {
            allow: allow.iter().map(|s| (*s).into()).collect(),
            deny: deny.iter().map(|s| (*s).into()).collect(),
        }
    }

    #[test]
    fn a_hub_cuts_off_only_for_what_the_user_may_not_have() {
        let mut gate = Gate::open(Role::Hub);
        gate.limit(rules(&["a.>"], &["a.no"]), rules(&[], &["no.pub"]));
        gate.deny_sending(JETSTREAM_DENIED);
        for (filter, offence) in [
            ("a.x", false),
            ("a.no", true),
            ("b.x", true),
            ("b.*", false),
            (">", false),
            ("$LDS.x", false),
            ("_GR_.x", false),
        ] {
            assert_eq!(gate.is_offence(filter), offence, "{filter}");
        }
        let sent: Vec<_> = ["a.x", "a.no", "b.x", "_R_.1.2", "$JS.ACK.S.C.1"]
            .iter()
            .map(|subject| gate.may_send(subject))
            .collect();
        assert_eq!(sent, [true, false, false, true, true]);
        assert!(gate.may_receive("any") && !gate.may_receive("no.pub"));
        assert!(gate.may_announce("no.*", None) && !gate.may_announce("no.pub", None));
    }

    #[test]
    fn denied_jetstream_is_neither_asked_for_nor_sent() {
        for role in [Role::Hub, Role::Spoke] {
            let mut gate = Gate::open(role);
            gate.deny_sending(JETSTREAM_DENIED);
            gate.deny_receiving(JETSTREAM_DENIED);
            for subject in ["$JS.API.INFO", "$KV.b.k", "$OBJ.b.k"] {
                assert!(!gate.may_send(subject) && !gate.may_announce(subject, None));
                assert!(!gate.is_offence(subject));
                assert_eq!(gate.may_receive(subject), role == Role::Hub);
            }
            assert!(gate.may_announce(">", None) && gate.may_announce("$JS.hub.API.>", None));
            assert!(!gate.may_announce("$JS.API.>", None));
        }
    }

    #[test]
    fn a_denial_may_be_for_one_queue_group() {
        let mut gate = Gate::open(Role::Hub);
        gate.limit(rules(&[], &["jobs.* w", "all >"]), SubjectRules::default());
        for (subject, queue, allowed) in [
            ("jobs.1", "w", false),
            ("jobs.1", "v", true),
            ("other", "w", true),
            ("all", "any", false),
        ] {
            assert_eq!(
                gate.may_send_to(subject, queue),
                allowed,
                "{subject} {queue}"
            );
            assert!(gate.may_send(subject));
        }
    }

    /// Where the rule comes from changes nothing.
    #[test]
    fn a_denied_group_is_neither_announced_nor_served() {
        let mut told = Gate::open(Role::Spoke);
        told.limit(SubjectRules::default(), rules(&[], &["jobs.* w"]));
        let mut own = Gate::open(Role::Spoke);
        own.deny_receiving(["jobs.* w"]);
        for gate in [told, own] {
            for (filter, queue, announced) in [
                ("jobs.1", Some("w"), false),
                ("jobs.*", Some("w"), false),
                ("jobs.>", Some("w"), true),
                ("jobs.1", Some("v"), true),
                ("jobs.1", None, true),
            ] {
                let found = gate.may_announce(filter, queue);
                assert_eq!(found, announced, "{filter} {queue:?}");
            }
            assert!(!gate.may_receive_for("jobs.1", "w") && gate.may_receive_for("jobs.1", "v"));
        }
    }

    #[test]
    fn a_wide_wildcard_is_told_when_some_of_it_is_allowed() {
        let mut gate = Gate::open(Role::Spoke);
        gate.limit(SubjectRules::default(), rules(&["a.b", "c.*"], &[]));
        for (filter, told) in [("a.*", true), (">", true), ("d.*", false), ("a.c", false)] {
            assert_eq!(gate.may_announce(filter, None), told, "{filter}");
        }
    }

    #[test]
    fn a_gateway_reply_is_judged_by_what_it_carries() {
        let mut gate = Gate::open(Role::Hub);
        gate.limit(SubjectRules::default(), rules(&["ok"], &[]));
        assert!(gate.may_receive("_GR_.abcdef.ghijkl.ok"));
        assert!(!gate.may_receive("_GR_.abcdef.ghijkl.no"));
    }
}
