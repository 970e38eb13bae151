use core::cell::OnceCell;

use frond_account::{Permissions, SubjectRules};

use crate::gate::OneName;

/// What leafs of an account neither say nor hear, because it is for this server's own people: a
/// leaf's clients are in the account like any others, and many of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reserved {
    /// The account.
    pub account: String,
    /// Not said by a leaf.
    pub said: Vec<String>,
    /// Said by a leaf of one name only, its own where it says that: what comes before it.
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
    /// Those that it may speak for.
    fn own(self) -> Vec<Box<str>> {
        let named = (self.name != self.id).then_some(self.name);
        let both = named.into_iter().chain([self.user]);
        both.filter(|it| !it.is_empty()).map(Into::into).collect()
    }
}

impl Reserved {
    /// What a leaf of an account says under one name only.
    pub(crate) fn one_name_of(
        &self,
        account: &str,
        permissions: Option<&Permissions>,
        names: Names<'_>,
    ) -> Option<OneName> {
        let is_named = |it: &Permissions, begin: &str| {
            let mut allowed = it.publish.allow.iter();
            allowed.any(|filter| filter.starts_with(begin))
        };
        // Whoever is allowed some of it by name may say just that.
        let mut begins = self.own.iter().chain([&self.named]);
        let is_left = permissions.is_some_and(|it| begins.any(|begin| is_named(it, begin)));
        (account == self.account && !is_left).then(|| OneName {
            begins: self.own.iter().map(|it| it.as_str().into()).collect(),
            own: names.own(),
            said: OnceCell::new(),
        })
    }

    /// What a leaf of an account never says.
    pub(crate) fn closed_to(&self, account: &str, permissions: Option<&Permissions>) -> &[String] {
        if self.is_for(account, permissions) {
            &self.said
        } else {
            &[]
        }
    }

    /// Whether it is about a leaf of an account with these permissions.
    fn is_for(&self, account: &str, permissions: Option<&Permissions>) -> bool {
        let is_named = |it: &Permissions| {
            let mut allowed = it.publish.allow.iter();
            allowed.any(|filter| filter.starts_with(&self.named))
        };
        account == self.account && !permissions.is_some_and(is_named)
    }

    /// The permissions of a leaf's user in an account, with that taken away.
    pub(crate) fn taken_from(
        &self,
        account: &str,
        permissions: Option<&Permissions>,
    ) -> Option<Permissions> {
        if !self.is_for(account, permissions) {
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

    /// What a peer says of itself opens nothing, and nobody says for it what it may not.
    #[test]
    fn a_leaf_that_calls_itself_a_hub_is_held_to_it_and_has_nobody_answer_there() {
        let reserved = Reserved {
            account: "A".to_owned(),
            said: vec!["run.>".to_owned()],
            own: vec!["of.".to_owned()],
            named: "run.".to_owned(),
            ..Reserved::default()
        };
        let names = Names {
            name: "shop-1",
            id: "NID",
            user: "",
        };
        for role in [Role::Hub, Role::Spoke] {
            let mut gate = Gate::open(role);
            gate.close(reserved.closed_to("A", None));
            gate.limit_names(reserved.one_name_of("A", None, names));
            assert!(gate.may_receive("of.shop-1") && gate.may_receive("orders.1"));
            for closed in [
                "run.abort",
                "_GR_.abcdef.ghijkl.run.abort",
                "of.shop-2",
                "of.key.shop-1",
            ] {
                assert!(!gate.may_receive(closed), "{closed}");
                assert!(!gate.may_be_answered(closed), "{closed}");
            }
            assert!(!gate.may_be_answered("of.shop-1") && gate.may_be_answered("_INBOX.1"));
            assert!(gate.may_be_answered("_R_.1.2"));
        }
        assert!(reserved.closed_to("B", None).is_empty());
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
        let gate = |name: &str, permissions: Option<&Permissions>| {
            let names = Names {
                name,
                id: "NID",
                user: "box-1",
            };
            let mut gate = Gate::open(Role::Hub);
            if let Some(permissions) = permissions {
                gate.limit_peer(permissions);
            }
            gate.limit_names(reserved.one_name_of("A", permissions, names));
            gate
        };
        for (name, said) in [
            ("shop-1", "of.shop-1"),
            ("shop-1", "of.box-1"),
            ("shop-1", "$JS.hub.API.of.shop-1"),
            // A box that calls itself otherwise than its server, and one whose server has no name.
            ("shop-1", "of.till-7"),
            ("NID", "$JS.hub.API.of.till-7"),
        ] {
            let gate = gate(name, None);
            assert!(
                gate.may_receive(said) && gate.may_receive(said),
                "{name} {said}"
            );
            for other in [
                "of.shop-2",
                "$JS.hub.API.of.shop-2",
                "of.key.shop-1",
                "of.key.till-7",
                "of.shop-1.more",
                "_GR_.abcdef.ghijkl.of.shop-2",
            ] {
                assert!(!gate.may_receive(other), "{name} {said} {other}");
            }
            assert!(gate.may_receive("other.shop-2") && gate.may_receive("of"));
        }
        // Its own name is not taken from it.
        let raced = gate("shop-1", None);
        assert!(raced.may_receive("of.shop-2") && raced.may_receive("of.shop-1"));
        assert!(!raced.may_receive("of.shop-3"));
        // No key comes first either, or in the way of who does.
        let keys = gate("NID", None);
        assert!(!keys.may_receive("of.key.till-7") && keys.may_receive("of.till-7"));
        let wide = allowing(">");
        let wide = gate("shop-1", Some(&wide));
        assert!(wide.may_receive("of.shop-1") && !wide.may_receive("of.shop-2"));
        let some = allowing("of.shop-2");
        let some = gate("shop-1", Some(&some));
        assert!(some.may_receive("of.shop-2") && !some.may_receive("of.shop-1"));
        let names = Names {
            name: "a",
            id: "b",
            user: "",
        };
        assert_eq!(reserved.one_name_of("B", None, names), None);
    }
}
