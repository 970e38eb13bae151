use frond_account::{Permissions, SubjectRules};

/// What leafs of an account neither say nor hear, because it is for this server's own people: a
/// leaf's clients are in the account like any others, and many of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reserved {
    /// The account.
    pub account: String,
    /// Not said by a leaf.
    pub said: Vec<String>,
    /// Not heard by one.
    pub heard: Vec<String>,
    /// A user that is allowed to publish something that begins so is one of these people.
    pub named: String,
}

impl Reserved {
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
}
