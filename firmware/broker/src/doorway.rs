use frond_account::Entry;
use frond_wire::RouteConnect;

use crate::{Level, LinkVerdict};

/// Another server of the system that dialed, and what it said of itself while its password is
/// compared.
#[derive(Debug, Default)]
pub struct Doorway {
    held: Option<Box<RouteConnect>>,
    /// Who the last one said it is.
    user: String,
}

/// What became of it.
#[derive(Debug)]
pub enum Admission {
    /// It may come in, as it said.
    Admitted(Box<RouteConnect>),
    /// It may not.
    Refused,
    /// [`Doorway::decide`] tells.
    Pending,
}

/// How a server that may not come in is told.
pub const REFUSED_TEXT: &str = "Authorization Violation";

/// And how its connection ends.
pub const REFUSED_CAUSE: &str = "Authentication Failure";

impl Doorway {
    /// Nobody is there.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            held: None,
            user: String::new(),
        }
    }

    /// Somebody says who it is, and `entry` is what that is worth. A hash and a password that have
    /// to be compared go to `compare`, as [`crate::Upcalls::compare`] takes them.
    pub fn knock(
        &mut self,
        connect: RouteConnect,
        entry: Entry,
        compare: impl FnOnce(&str, &str),
    ) -> Admission {
        self.user.clone_from(&connect.user);
        match entry {
            Entry::Open => Admission::Admitted(Box::new(connect)),
            Entry::Closed => Admission::Refused,
            Entry::If(hash) => {
                compare(&hash, &connect.pass);
                self.held = Some(Box::new(connect));
                Admission::Pending
            }
        }
    }

    /// What the log says of who stood here and was told `text`.
    #[must_use]
    pub fn told_as(&self, text: &str) -> (Level, String) {
        told_as(text, &self.user)
    }

    /// Its password was compared; without one that is, nothing comes of it.
    pub fn decide(&mut self, verdict: &LinkVerdict) -> Admission {
        match (self.held.take(), verdict) {
            (Some(connect), LinkVerdict::Accepted { .. }) => Admission::Admitted(connect),
            (Some(_), LinkVerdict::Refused { .. }) => Admission::Refused,
            (None, LinkVerdict::Accepted { .. } | LinkVerdict::Refused { .. }) => {
                Admission::Pending
            }
        }
    }
}

/// What the log says of a peer that said it is `user`, or nobody, and was told `text`.
///
/// spec: nats-server v2.15.1 server/client.go `authViolation`, `authTimeout`, `processPingTimer`
#[must_use]
pub fn told_as(text: &str, user: &str) -> (Level, String) {
    match text {
        REFUSED_TEXT if user.is_empty() => (Level::Error, "authentication error".to_owned()),
        REFUSED_TEXT => {
            let text = format!("authentication error - User {user:?}");
            (Level::Error, text)
        }
        "Authentication Timeout" | "Stale Connection" => (Level::Debug, text.to_owned()),
        text => (Level::Error, text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use frond_account::AccountId;

    fn caller(name: &str) -> RouteConnect {
        RouteConnect {
            name: name.into(),
            pass: "pw".into(),
            ..RouteConnect::default()
        }
    }

    fn verdicts() -> [LinkVerdict; 2] {
        let accepted = LinkVerdict::Accepted {
            account: AccountId(0),
            permissions: None,
            user: String::new(),
        };
        [accepted, LinkVerdict::Refused { cause: "x" }]
    }

    fn words(admission: &Admission) -> String {
        match admission {
            Admission::Admitted(connect) => connect.name.clone(),
            Admission::Refused => "refused".into(),
            Admission::Pending => "pending".into(),
        }
    }

    #[test]
    fn who_is_known_at_once_is_not_compared() {
        let mut door = Doorway::new();
        let never = |_: &str, _: &str| panic!("nothing is compared");
        let open = door.knock(caller("a"), Entry::Open, never);
        let closed = door.knock(caller("a"), Entry::Closed, never);
        assert_eq!(
            (words(&open), words(&closed)),
            ("a".into(), "refused".into())
        );
        for verdict in verdicts() {
            assert_eq!(words(&door.decide(&verdict)), "pending");
        }
    }

    #[test]
    fn a_password_is_compared_once() {
        let [yes, no] = verdicts();
        for (verdict, came) in [(yes, "a"), (no, "refused")] {
            let (mut door, mut asked) = (Doorway::new(), Vec::new());
            let entry = Entry::If("hash".into());
            let first = door.knock(caller("a"), entry, |hash, password| {
                asked.push(format!("{hash} {password}"));
            });
            assert_eq!(
                (words(&first), asked),
                ("pending".into(), vec!["hash pw".into()])
            );
            assert_eq!(words(&door.decide(&verdict)), came);
            assert_eq!(words(&door.decide(&verdict)), "pending");
        }
    }
}
