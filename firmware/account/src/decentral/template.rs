use frond_subject::is_valid_filter;

use crate::jwt::{PermissionClaims, UserClaims};
use crate::limits::TEMPLATE_SUBJECTS_MAX;

/// What templates are filled with.
pub(crate) struct Facts<'a> {
    pub(crate) user: &'a UserClaims,
    pub(crate) account_name: &'a str,
    pub(crate) account_tags: &'a [String],
}

/// What to do with a subject that cannot be made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    /// It allows nothing.
    Skip,
    /// It would have denied something: nobody is let in.
    Fail,
}

/// A template that cannot be filled.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadTemplate;

/// The permissions of a scope with its templates filled in.
///
/// spec: nats-server v2.15.1 server/auth.go `processUserPermissionsTemplate`
pub(crate) fn filled(
    template: &PermissionClaims,
    facts: &Facts<'_>,
) -> Result<PermissionClaims, BadTemplate> {
    let mut made = template.clone();
    for rules in [&mut made.publish, &mut made.subscribe] {
        let had_allow = !rules.allow.is_empty();
        rules.allow = facts.fill_all(&rules.allow, Missing::Skip)?;
        rules.deny = facts.fill_all(&rules.deny, Missing::Fail)?;
        if had_allow && rules.allow.is_empty() {
            rules.deny.push(">".to_owned());
        }
    }
    Ok(made)
}

impl Facts<'_> {
    fn fill_all(&self, list: &[String], missing: Missing) -> Result<Vec<String>, BadTemplate> {
        if !list.iter().any(|text| next_slot(text).is_some()) {
            return Ok(list.to_vec());
        }
        let mut made = Vec::new();
        for text in list {
            for subject in self.fill(text, missing)? {
                if is_valid_filter(&subject) {
                    made.push(subject);
                } else if missing == Missing::Fail {
                    return Err(BadTemplate);
                }
            }
            if made.len() > TEMPLATE_SUBJECTS_MAX {
                return Err(BadTemplate);
            }
        }
        Ok(made)
    }

    /// One subject for every combination of values; the values of the last slot change first.
    fn fill(&self, text: &str, missing: Missing) -> Result<Vec<String>, BadTemplate> {
        let mut made = vec![String::new()];
        let mut rest = text;
        while let Some(slot) = next_slot(rest) {
            let values = self.values(slot.operation, missing)?;
            if made.len() * values.len() > TEMPLATE_SUBJECTS_MAX {
                return Err(BadTemplate);
            }
            let longer = |head: &String| {
                let head = format!("{head}{}", slot.before);
                values.iter().map(move |value| format!("{head}{value}"))
            };
            made = made.iter().flat_map(longer).collect();
            rest = slot.after;
        }
        for subject in &mut made {
            subject.push_str(rest);
        }
        Ok(made)
    }

    fn values(&self, operation: &str, missing: Missing) -> Result<Vec<String>, BadTemplate> {
        let user = self.user;
        let operation = operation.trim();
        let lower = operation.to_ascii_lowercase();
        let one = |value: &str| Ok(vec![value.to_owned()]);
        match lower.as_str() {
            "name()" => return one(&user.name),
            "subject()" => return one(&user.subject),
            "account-name()" => return one(self.account_name),
            "account-subject()" => return one(&user.nats.issuer_account),
            _ => {}
        }
        let (tags, name) = if let Some(name) = argument(&lower, "tag(") {
            (user.nats.tags.as_slice(), name)
        } else if let Some(name) = argument(&lower, "account-tag(") {
            (self.account_tags, name)
        } else {
            return Err(BadTemplate);
        };
        let prefix = format!("{name}:");
        let values: Vec<String> = tags
            .iter()
            .filter_map(|tag| tag.strip_prefix(&prefix))
            .map(str::to_owned)
            .collect();
        match (values.is_empty(), missing) {
            (false, _) => Ok(values),
            (true, Missing::Fail) => Err(BadTemplate),
            // No subject has a space.
            (true, Missing::Skip) => one(" "),
        }
    }
}

fn argument<'a>(operation: &'a str, head: &str) -> Option<&'a str> {
    operation.strip_prefix(head)?.strip_suffix(')')
}

/// A `{{…}}` and what is around it.
struct Slot<'a> {
    before: &'a str,
    operation: &'a str,
    after: &'a str,
}

/// The first `{{…}}` with at least one character and no `}` inside.
fn next_slot(text: &str) -> Option<Slot<'_>> {
    for (at, _) in text.match_indices("{{") {
        let inside = text.get(at + 2..)?;
        let Some((operation, after)) = inside.split_once('}') else {
            continue;
        };
        if let (false, Some(after)) = (operation.is_empty(), after.strip_prefix('}')) {
            return Some(Slot {
                before: text.get(..at)?,
                operation,
                after,
            });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jwt::Permission;

    fn user() -> UserClaims {
        let mut user = UserClaims {
            name: "till".into(),
            subject: "UKEY".into(),
            ..UserClaims::default()
        };
        user.nats.issuer_account = "AKEY".into();
        user.nats.tags = vec!["shop:1".into(), "shop:2".into(), "kind:till".into()];
        user
    }

    fn fill(allow: &[&str], deny: &[&str]) -> Result<(Vec<String>, Vec<String>), BadTemplate> {
        let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        let template = PermissionClaims {
            publish: Permission {
                allow: texts(allow),
                deny: texts(deny),
            },
            ..PermissionClaims::default()
        };
        let (user, tags) = (user(), ["region:eu".to_owned()]);
        let facts = Facts {
            user: &user,
            account_name: "ACME",
            account_tags: &tags,
        };
        let made = filled(&template, &facts)?;
        Ok((made.publish.allow, made.publish.deny))
    }

    #[test]
    fn every_operation_has_its_value() {
        let (allow, _) = fill(
            &[
                "a.{{name()}}.{{ Subject() }}",
                "{{account-name()}}.{{account-subject()}}",
                "{{tag(shop)}}.{{account-tag(region)}}.{{TAG(KIND)}}",
                "plain.>",
            ],
            &[],
        )
        .unwrap();
        let want = [
            "a.till.UKEY",
            "ACME.AKEY",
            "1.eu.till",
            "2.eu.till",
            "plain.>",
        ];
        assert_eq!(allow, want);
    }

    #[test]
    fn what_cannot_be_filled_allows_nothing_and_denies_everything() {
        let all = vec![">".to_owned()];
        assert_eq!(fill(&["x.{{tag(none)}}"], &[]), Ok((Vec::new(), all)));
        let some = vec!["a".to_owned()];
        assert_eq!(fill(&["x.{{tag(none)}}", "a"], &[]), Ok((some, Vec::new())));
        assert_eq!(fill(&[], &["x.{{tag(none)}}"]), Err(BadTemplate));
        assert_eq!(fill(&["x.{{unknown()}}"], &[]), Err(BadTemplate));
    }

    #[test]
    fn braces_alone_are_text() {
        let (allow, _) = fill(&["a.{{}}.{x}", "{{{name()}}"], &[]).unwrap_or_default();
        assert!(allow.is_empty(), "{allow:?}");
        let (allow, _) = fill(&["a.{{}}", "b"], &[]).unwrap();
        assert_eq!(allow, ["a.{{}}", "b"]);
    }
}
