//! The same documents for `$SYS.REQ.…`: on one line, parameters from a JSON body.
//!
//! spec: nats-server v2.15.1 server/events.go `zReq`, `initEventTracking`

mod options;

use frond_node::View;

use crate::Process;
use crate::answer::{Asked, Form};
use crate::endpoint::Endpoint;
use crate::jsz::NOT_LEADER;
use crate::query::{Query, Refusal};
use crate::status::Seen;

/// Why a request gets no document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unanswered {
    /// It is not for this server: nothing is to be sent.
    Silence,
    /// What is wrong, in nats-server's words.
    Error {
        /// 400: the options cannot be read; 500: they ask for what cannot be had. nats-server
        /// sends `"data":null` beside the latter.
        code: u16,
        /// In words.
        description: String,
    },
}

/// Answers a request for a document with JSON on one line, what goes under `data`.
///
/// `what` is the part of the subject after `$SYS.REQ.` that counts: `CONNZ` for
/// `$SYS.REQ.SERVER.PING.CONNZ` and `$SYS.REQ.SERVER.<id>.CONNZ`, `ACCOUNT.A.CONNZ` and
/// `ACCOUNT.PING.STATZ` for those about accounts. `options` is the body, empty without one; who
/// is meant by its `server_name`, `tags` and so on the caller decides.
///
/// # Errors
/// What to answer instead; silence also for a document that does not exist.
pub fn report(
    view: &View<'_>,
    process: &Process<'_>,
    what: &str,
    options: &[u8],
) -> Result<String, Unanswered> {
    let wanted = Wanted::read(what).ok_or(Unanswered::Silence)?;
    let query =
        options::read(wanted.endpoint, options).map_err(|description| Unanswered::Error {
            code: 400,
            description,
        })?;
    let query = match wanted.account {
        None => query,
        Some(account) => wanted.within(account, query),
    };
    let asked = Asked {
        view,
        process,
        query: &query,
        form: Form::OneLine,
        seen: &Seen::All,
    };
    let answer = match (wanted.endpoint, wanted.account) {
        (Endpoint::Jsz, Some(account)) => asked.jetstream_of(account),
        (Endpoint::Accountz, Some(account)) => asked.account_of(account),
        (Endpoint::Accstatz, _) => match asked.account_statz() {
            Some(found) => found,
            None => return Err(Unanswered::Silence),
        },
        (endpoint, _) => asked.answer(endpoint, ""),
    };
    match answer {
        Ok(page) => Ok(page.body),
        Err(Refusal(text)) if text == NOT_LEADER => Err(Unanswered::Silence),
        Err(Refusal(description)) => Err(Unanswered::Error {
            code: 500,
            description,
        }),
    }
}

/// Which document, and of which account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Wanted<'a> {
    endpoint: Endpoint,
    account: Option<&'a str>,
}

impl<'a> Wanted<'a> {
    fn read(what: &'a str) -> Option<Self> {
        let Some(rest) = what.strip_prefix("ACCOUNT.") else {
            let endpoint = Endpoint::called(what)?;
            return Some(Self {
                endpoint,
                account: None,
            });
        };
        let (account, document) = rest.rsplit_once('.')?;
        let endpoint = match document {
            "STATZ" => Endpoint::Accstatz,
            "INFO" => Endpoint::Accountz,
            "SUBSZ" | "CONNZ" | "LEAFZ" | "JSZ" => Endpoint::called(document)?,
            _ => return None,
        };
        let everybody = account == "PING" && endpoint == Endpoint::Accstatz;
        Some(Self {
            endpoint,
            account: (!everybody).then_some(account),
        })
    }

    /// The parameters narrowed to an account, whatever they said of one.
    fn within(&self, account: &str, query: Query) -> Query {
        let query = query.with("acc", account);
        if self.endpoint == Endpoint::Subsz {
            query.with("subs", "1")
        } else if self.endpoint == Endpoint::Accstatz {
            query.with("accounts", account)
        } else {
            query
        }
    }
}

#[cfg(test)]
mod tests;
