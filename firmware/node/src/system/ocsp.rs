//! What this server tells of peers whose certificates are not good any more.

use frond_clock::Now;
use serde::Serialize;

use crate::Node;

use super::events::Typed;
use super::server_info::ServerInfo;

/// A peer's certificate is not good, says its responder, or nobody can say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OcspNews {
    /// The peer was sent away.
    Rejected {
        /// What it is: `Client` or `Leafnode`.
        kind: &'static str,
        /// Its certificate.
        peer: CertInfo,
        /// Why.
        reason: String,
    },
    /// One certificate on the way up from the peer's is not good.
    LinkInvalid {
        /// The certificate.
        link: CertInfo,
        /// The peer's.
        peer: CertInfo,
        /// Why.
        reason: String,
    },
}

/// A certificate as it is told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CertInfo {
    /// Whose.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub subject: String,
    /// Who signed it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub issuer: String,
    /// SHA-256 of all of it, base64.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fingerprint: String,
    /// All of it, base64.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub raw: String,
}

#[derive(Serialize)]
struct Rejected<'a> {
    #[serde(flatten)]
    typed: Typed,
    kind: &'a str,
    peer: &'a CertInfo,
    server: ServerInfo,
    reason: &'a str,
}

#[derive(Serialize)]
struct LinkInvalid<'a> {
    #[serde(flatten)]
    typed: Typed,
    link: &'a CertInfo,
    peer: &'a CertInfo,
    server: ServerInfo,
    reason: &'a str,
}

impl Node {
    /// spec: nats-server v2.15.1 server/events.go `sendOCSPPeerRejectEvent`,
    /// `sendOCSPPeerChainlinkInvalidEvent`
    pub(crate) fn tell_ocsp(&mut self, now: Now, news: &OcspNews) {
        let id = &self.facts().id;
        let subject = match news {
            OcspNews::Rejected { .. } => format!("$SYS.SERVER.{id}.OCSP.PEER.CONN.REJECT"),
            OcspNews::LinkInvalid { .. } => format!("$SYS.SERVER.{id}.OCSP.PEER.LINK.INVALID"),
        };
        let Some(into) = self.listener_of(&subject) else {
            return;
        };
        match news {
            OcspNews::Rejected { kind, peer, reason } => {
                let event = Rejected {
                    typed: self.typed(now.wall, "ocsp_peer_reject"),
                    kind,
                    peer,
                    server: self.told(now.wall),
                    reason,
                };
                self.tell(now, into, &subject, &event);
            }
            OcspNews::LinkInvalid { link, peer, reason } => {
                let event = LinkInvalid {
                    typed: self.typed(now.wall, "ocsp_peer_link_invalid"),
                    link,
                    peer,
                    server: self.told(now.wall),
                    reason,
                };
                self.tell(now, into, &subject, &event);
            }
        }
    }
}
