use frond_account::{Permissions, SubjectRules};

use crate::gate::OwnOnly;

/// What leafs of an account neither say nor hear, because it is for this server's own people: a
/// leaf's clients are in the account like any others, and many of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reserved {
    /// The account.
    pub account: String,
    /// Not said by a leaf.
    pub said: Vec<String>,
    /// Said by a leaf of its own name only: what comes before that.
    pub own: Vec<String>,
    /// Not heard by one.
    pub heard: Vec<String>,
    /// A user that is allowed to publish something that begins so is one of these people.
    pub named: String,
}

/// How a leaf calls itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// The id that stands for it where it has none.
    pub(crate) id: &'a str,
    /// The user it logged in as.
    pub(crate) user: &'a str,
}

impl Names<'_> {
    /// The names that it may speak for: any one when it has none.
    fn own(self) -> Vec<Box<str>> {
        if self.name == self.id {
            return vec!["*".into()];
        }
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let both = [self.name, self.user].into_iter();
        let both = both.filter(|it| !it.is_empty() && it.chars().all(fits));
        both.map(Into::into).collect()
    }
}

impl Reserved {
    /// What a leaf of an account says under its own name only.
    pub(crate) fn own_of(
        &self,
        account: &str,
        permissions: Option<&Permissions>,
        names: Names<'_>,
    ) -> Vec<OwnOnly> {
        let is_named = |it: &Permissions, begin: &str| {
            let mut allowed = it.publish.allow.iter();
            allowed.any(|filter| filter.starts_with(begin))
        };
        // Whoever is allowed some of it by name may say just that.
        let mut begins = self.own.iter().chain([&self.named]);
        let is_left = permissions.is_some_and(|it| begins.any(|begin| is_named(it, begin)));
        if account != self.account || is_left {
            return Vec::new();
        }
        let names = names.own();
        let only = |begin: &String| OwnOnly {
            all: format!("{begin}>").into(),
            own: names
                .iter()
                .map(|it| format!("{begin}{it}").into())
                .collect(),
        };
        self.own.iter().map(only).collect()
    }

    /// The permissions of a leaf's user in an account, with that taken away.
    pub(crate) fn taken_from(
        &self,
        account: &str,
        permissions: Option<&Permissions>,
    ) -> Option<Permissions> {
        let is_named = |it: &Permissions| {
            let mut allowed = it.publish.allow.iter();
            allowed.any(|filter| filter.starts_with(&self.named))
        };
        if account != self.account || permissions.is_some_and(is_named) {
            return permissions.cloned();
        }
        let mut left = permissions.cloned().unwrap_or_default();
        deny(&mut left.publish, &self.said);
        deny(&mut left.subscribe, &self.heard);
        Some(left)
    }
}

fn deny(rules: &mut SubjectRules, filters: &[String]) {
    rules
        .deny
        .extend(filters.iter().map(|it| it.as_str().into()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::{Gate, Role};

    #[test]
    fn it_is_taken_from_all_but_those_who_are_allowed_it_by_name() {
        let reserved = Reserved {
            account: "A".to_owned(),
            said: vec!["run.>".to_owned()],
            own: vec!["of.".to_owned()],
            heard: vec!["run.*".to_owned()],
            named: "run.".to_owned(),
        };
        let allowing = |filter: &str| Permissions {
            publish: SubjectRules {
                allow: vec![filter.into()],
                deny: Vec::new(),
            },
            ..Permissions::default()
        };
        let may = |account: &str, permissions: Option<&Permissions>| {
            let mut gate = Gate::open(Role::Hub);
            if let Some(left) = reserved.taken_from(account, permissions) {
                gate.limit_peer(&left);
            }
            (gate.may_receive("run.it"), gate.may_send("run.it"))
        };
        assert_eq!(may("A", None), (false, false));
        assert_eq!(may("A", Some(&allowing(">"))), (false, false));
        assert_eq!(may("A", Some(&allowing("run.it"))), (true, true));
        assert_eq!(may("B", None), (true, true));
        assert_eq!(reserved.taken_from("B", None), None);
        let left = reserved.taken_from("A", Some(&allowing("other"))).unwrap();
        assert_eq!(left.publish.allow, [Box::from("other")]);
    }

    #[test]
    fn a_leaf_speaks_for_itself_and_for_nobody_else() {
        let reserved = Reserved {
            account: "A".to_owned(),
            own: vec!["of.".to_owned(), "$JS.*.API.of.".to_owned()],
            named: "run.".to_owned(),
            ..Reserved::default()
        };
        let allowing = |filter: &str| Permissions {
            publish: SubjectRules {
                allow: vec![filter.into()],
                deny: Vec::new(),
            },
            ..Permissions::default()
        };
        let may = |name: &str, permissions: Option<&Permissions>, subject: &str| {
            let names = Names {
                name,
                id: "NID",
                user: "box-1",
            };
            let mut gate = Gate::open(Role::Hub);
            if let Some(permissions) = permissions {
                gate.limit_peer(permissions);
            }
            gate.own_only(reserved.own_of("A", permissions, names));
            gate.may_receive(subject)
        };
        for (name, subject, is_taken) in [
            ("shop-1", "of.shop-1", true),
            ("shop-1", "of.box-1", true),
            ("shop-1", "of.shop-2", false),
            ("shop-1", "of.key.shop-1", false),
            ("shop-1", "of.shop-1.more", false),
            ("shop-1", "$JS.hub.API.of.shop-1", true),
            ("shop-1", "$JS.hub.API.of.shop-2", false),
            ("shop-1", "other.shop-2", true),
            ("shop-1", "_GR_.abcdef.ghijkl.of.shop-2", false),
            // A name that is a pattern is nobody's.
            ("*", "of.shop-2", false),
            (">", "of.shop-2", false),
            // Which box it is is not known.
            ("NID", "of.shop-2", true),
            ("NID", "of.key.shop-2", false),
        ] {
            assert_eq!(may(name, None, subject), is_taken, "{name} {subject}");
        }
        let wide = allowing(">");
        assert!(!may("shop-1", Some(&wide), "of.shop-2"));
        let some = allowing("of.shop-2");
        assert!(may("shop-1", Some(&some), "of.shop-2"));
        assert!(!may("shop-1", Some(&some), "of.shop-1"));
        let names = Names {
            name: "a",
            id: "b",
            user: "",
        };
        assert!(reserved.own_of("B", None, names).is_empty());
    }
}
