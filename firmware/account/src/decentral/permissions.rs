use std::time::Duration;

use crate::jwt::{Permission, PermissionClaims, ResponsePermission};
use crate::{AllowResponses, Permissions, SubjectRules};

/// `None` when nothing is said.
///
/// spec: nats-server v2.15.1 server/accounts.go `buildPermissionsFromJwt`
pub(crate) fn of(claims: &PermissionClaims) -> Option<Permissions> {
    (*claims != PermissionClaims::default()).then(|| Permissions {
        publish: rules(&claims.publish),
        subscribe: rules(&claims.subscribe),
        allow_responses: claims.responses.map(responses),
    })
}

fn rules(claims: &Permission) -> SubjectRules {
    let boxed = |list: &[String]| list.iter().map(|text| text.as_str().into()).collect();
    SubjectRules {
        allow: boxed(&claims.allow),
        deny: boxed(&claims.deny),
    }
}

/// Zero is the default, less is no limit.
///
/// spec: nats-server v2.15.1 server/opts.go `validateResponsePermissions`
fn responses(claims: ResponsePermission) -> AllowResponses {
    AllowResponses {
        max_msgs: match claims.max_msgs {
            0 => Some(DEFAULT_MSGS),
            max => u32::try_from(max).ok(),
        },
        expires: match claims.expires_ns {
            0 => Some(DEFAULT_EXPIRES),
            nanos => u64::try_from(nanos).ok().map(Duration::from_nanos),
        },
    }
}

const DEFAULT_MSGS: u32 = 1;
const DEFAULT_EXPIRES: Duration = Duration::from_secs(120);
