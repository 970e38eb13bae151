use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::validation::Validation;
use super::{ActivationClaims, ClaimedKind, is_default, subject_text};

/// What an account takes from another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClaimedImport {
    /// For people.
    #[serde(skip_serializing_if = "is_default")]
    pub name: String,
    /// The subject as the first publisher has it: the exporter's of a stream, the importer's of a
    /// service.
    #[serde(skip_serializing_if = "is_default")]
    pub subject: String,
    /// The public key of the exporting account.
    #[serde(skip_serializing_if = "is_default")]
    pub account: String,
    /// The activation, or where it can be fetched.
    #[serde(skip_serializing_if = "is_default")]
    pub token: String,
    /// The other end's subject; what `local_subject` replaced.
    #[serde(skip_serializing_if = "is_default")]
    pub to: String,
    /// The importer's subject.
    #[serde(skip_serializing_if = "is_default")]
    pub local_subject: String,
    /// Messages or answers.
    #[serde(rename = "type", skip_serializing_if = "is_default")]
    pub kind: ClaimedKind,
    /// Whether the exporter learns who asks.
    #[serde(skip_serializing_if = "is_default")]
    pub share: bool,
    /// Whether traces follow messages out of it.
    #[serde(skip_serializing_if = "is_default")]
    pub allow_trace: bool,
}

impl ClaimedImport {
    fn check(&self, importer: &str, found: &mut Validation) {
        match self.kind {
            ClaimedKind::Unknown => found.error("invalid import type: \"unknown\""),
            ClaimedKind::Service if self.allow_trace => {
                found.error("AllowTrace only valid for stream import");
            }
            ClaimedKind::Stream if self.share => found.error(format!(
                "sharing information (for latency tracking) is only valid for services: {:?}",
                self.subject
            )),
            ClaimedKind::Service | ClaimedKind::Stream => {}
        }
        if self.account.is_empty() {
            found.error("account to import from is not specified");
        }
        if !self.to.is_empty() {
            found.warning("the field to has been deprecated (use LocalSubject instead)");
        }
        subject_text::check(&self.subject, found);
        if !self.local_subject.is_empty() {
            subject_text::check_renaming(&self.local_subject, &self.subject, found);
            if !self.to.is_empty() {
                found.error("Local Subject replaces To");
            }
        }
        if !self.token.is_empty() {
            self.check_token(importer, found);
        }
    }

    fn check_token(&self, importer: &str, found: &mut Validation) {
        let subject = &self.subject;
        let Ok(activation) = ActivationClaims::decode(&self.token) else {
            found.error(format!(
                "import {subject:?} contains an invalid activation token"
            ));
            return;
        };
        if activation.issuer != self.account && activation.nats.issuer_account != self.account {
            found.error(format!(
                "activation token doesn't match account for import {subject:?}"
            ));
        }
        if activation.subject != importer {
            found.error(format!(
                "activation token doesn't match account it is being included in, {subject:?}"
            ));
        }
        if activation.nats.import_kind != self.kind {
            found.error(format!(
                "mismatch between token import type {} and type of import {}",
                activation.nats.import_kind.name(),
                self.kind.name()
            ));
        }
        activation.nats.check_content(found);
        let service_to = self.kind == ClaimedKind::Service && !self.to.is_empty();
        let taken = if service_to { &self.to } else { subject };
        let given = &activation.nats.import_subject;
        if !subject_text::is_contained_in(taken, given) {
            found.error(format!(
                "activation token import subject {given:?} doesn't match import {subject:?}"
            ));
        }
    }

    /// What requests are sent to.
    fn service_subject(&self) -> String {
        if !self.to.is_empty() {
            self.to.clone()
        } else if !self.local_subject.is_empty() {
            subject_text::with_wildcards(&self.local_subject)
        } else {
            self.subject.clone()
        }
    }
}

pub(super) fn check(imports: &[ClaimedImport], importer: &str, found: &mut Validation) {
    let mut services: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for import in imports {
        if import.kind == ClaimedKind::Service {
            let subject = import.service_subject();
            let account = import.account.as_str();
            let others = services.entry(account).or_default();
            for other in others.iter() {
                if subject_text::is_contained_in(&subject, other)
                    || subject_text::is_contained_in(other, &subject)
                {
                    found.error(format!(
                        "overlapping subject namespace for {subject:?} and {other:?} in same account {account:?}"
                    ));
                }
            }
            others.push(subject);
        }
        import.check(importer, found);
    }
}
