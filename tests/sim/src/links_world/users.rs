//! Who there is on every server, and what they may do.

use frond_account::{
    AccountPlan, Directory, Login, Permissions, Plan, Secret, SubjectRules, UserPlan,
};

use super::topics::{ACCOUNTS, CLIENTS_MAY_NOT, LEAFS_MAY_NOT};

/// The name of a client's user.
pub(super) fn client_user(account: &str, is_limited: bool) -> String {
    named(account, is_limited, "client")
}

/// The name of a leafnode's user.
pub(super) fn leaf_user(account: &str, is_limited: bool) -> String {
    named(account, is_limited, "leaf")
}

fn named(account: &str, is_limited: bool, limited: &str) -> String {
    let account = account.to_lowercase();
    match is_limited {
        true => format!("{account}-{limited}"),
        false => account,
    }
}

pub(super) fn directory() -> Result<Directory, String> {
    let users = ACCOUNTS.iter().flat_map(|account| {
        [
            user(account, client_user(account, false), None),
            user(account, client_user(account, true), Some(CLIENTS_MAY_NOT)),
            user(account, leaf_user(account, true), Some(LEAFS_MAY_NOT)),
        ]
    });
    let plan = Plan {
        accounts: ACCOUNTS
            .map(|name| AccountPlan {
                name: name.to_owned(),
                ..AccountPlan::default()
            })
            .into(),
        users: users.collect(),
        ..Plan::default()
    };
    Directory::build(&plan, None).map_err(|error| format!("{error:?}"))
}

fn user(account: &str, name: String, may_not: Option<&str>) -> UserPlan {
    let rules = |subjects: &str| SubjectRules {
        deny: vec![format!("{subjects}>").into()],
        ..SubjectRules::default()
    };
    UserPlan {
        only: None,
        proxy_required: false,
        login: Login::Password {
            user: name,
            secret: Secret::new(PASSWORD),
        },
        account: Some(account.to_owned()),
        permissions: may_not.map(|subjects| Permissions {
            publish: rules(subjects),
            subscribe: rules(subjects),
            allow_responses: None,
        }),
    }
}

pub(super) const PASSWORD: &str = "word";
