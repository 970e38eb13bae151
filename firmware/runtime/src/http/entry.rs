//! Who may see what names people's devices: whoever sits at the box, and its users.

use std::net::IpAddr;
use std::rc::Rc;

use data_encoding::BASE64;
use frond_account::{Caller, Credentials, PeerKind, Question, Transport, Verdict};

use crate::clock::pause;
use crate::core::Core;
use crate::limits::HTTP_REFUSAL_PAUSE;

/// What a request says of who makes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Claims {
    /// The host it thinks it talks to.
    pub(super) host: Option<String>,
    /// Its credentials, as `Authorization` has them.
    pub(super) authorization: Option<String>,
}

/// Why somebody is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Denied {
    /// There is nobody who could be.
    NoUsers,
    /// It is not known who this is.
    Unknown,
}

/// Lets in who may see private pages.
pub(super) async fn admit(core: &Rc<Core>, from: IpAddr, claims: &Claims) -> Result<(), Denied> {
    if from.to_canonical().is_loopback() && is_local_name(claims.host.as_deref()) {
        return Ok(());
    }
    let auth_required = core.with_node(|node| {
        let view = node.view(core.clock().now());
        view.broker.directory().auth_required()
    });
    if !auth_required {
        return Err(Denied::NoUsers);
    }
    let Some(given) = claims.authorization.as_deref().and_then(credentials) else {
        return Err(Denied::Unknown);
    };
    if is_known(core, from, &given).await {
        return Ok(());
    }
    // Guessing is made slow.
    pause(HTTP_REFUSAL_PAUSE).await;
    Err(Denied::Unknown)
}

async fn is_known(core: &Rc<Core>, from: IpAddr, given: &Credentials) -> bool {
    let now = core.clock().now();
    let caller = Caller {
        kind: PeerKind::Client,
        transport: Transport::Tcp,
        ip: Some(from),
        tls: None,
        wall_ns: now.wall.as_nanos(),
    };
    let verdict = core.with_node(|node| {
        let view = node.view(now);
        view.broker.directory().authenticate(given, "", &caller)
    });
    match verdict {
        Verdict::Accept(who) => who.user.is_some(),
        Verdict::Ask(Question::Bcrypt { hash, password, .. }) => {
            let checked = tokio::task::spawn_blocking(move || bcrypt::verify(password, &hash));
            matches!(checked.await, Ok(Ok(true)))
        }
        // Whoever needs more than a name and a password asks as a client.
        Verdict::Refuse | Verdict::RefuseFor(_) | Verdict::Ask(_) => false,
    }
}

/// A page from elsewhere can make a browser on this box ask for a name that leads here, and would
/// be shown the answer: only an address or the box's own name is believed.
fn is_local_name(host: Option<&str>) -> bool {
    let Some(host) = host else { return true };
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

/// A user and a password out of `Basic …`.
fn credentials(authorization: &str) -> Option<Credentials> {
    let (scheme, rest) = authorization.split_once(' ')?;
    let basic = scheme
        .eq_ignore_ascii_case("basic")
        .then_some(rest.trim())?;
    let both = String::from_utf8(BASE64.decode(basic.as_bytes()).ok()?).ok()?;
    let (user, pass) = both.split_once(':')?;
    Some(Credentials {
        user: Some(user.to_owned()),
        pass: Some(pass.to_owned()),
        ..Credentials::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_box_itself_is_a_local_name() {
        for (host, local) in [
            (None, true),
            (Some("localhost"), true),
            (Some("LocalHost:8222"), true),
            (Some("127.0.0.1:8222"), true),
            (Some("[::1]:8222"), true),
            (Some("[::1]"), true),
            (Some("elsewhere.example:8222"), false),
            (Some("localhost.example"), false),
            (Some(""), false),
        ] {
            assert_eq!(is_local_name(host), local, "{host:?}");
        }
    }

    #[test]
    fn a_name_and_a_password_are_read() {
        let given = credentials("basic YTpiOmM=").unwrap();
        assert_eq!(given.user.as_deref(), Some("a"));
        assert_eq!(given.pass.as_deref(), Some("b:c"));
        for wrong in ["", "Basic", "Basic ?", "Bearer YTpi", "Basic YQ=="] {
            assert!(credentials(wrong).is_none(), "{wrong}");
        }
    }
}
