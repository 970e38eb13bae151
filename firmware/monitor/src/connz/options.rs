use crate::connz::order::Sort;
use crate::limits::CONNECTIONS_LISTED_DEFAULT;
use crate::paging::Paging;
use crate::query::{Query, Refusal, Subs};
use crate::rows::Subscription;

/// Which connections, in which order, and how much of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) sort: Sort,
    pub(crate) auth: bool,
    pub(crate) subs: Subs,
    pub(crate) paging: Paging,
    /// Only the connection of this number.
    pub(crate) cid: Option<u64>,
    pub(crate) state: State,
    /// Only of this user; empty: of any.
    user: String,
    /// Only of this account; empty: of any.
    pub(crate) account: String,
    /// Only of this MQTT client; empty: of any.
    mqtt_client: String,
    /// Only with a subscription that may match what this one does; empty: with any or none.
    filter_subject: String,
}

/// Open connections, or the ring of those that are gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Open,
    Closed,
    Any,
    /// A number that means none of them, over the system account.
    Neither,
}

impl Options {
    /// The parameters are looked at in nats-server's order: the first that is wrong is told.
    pub(crate) fn read(query: &Query) -> Result<Self, Refusal> {
        let auth = query.flag("auth")?;
        let subs = query.subs()?;
        let offset = query.int("offset")?;
        let limit = query.int("limit")?;
        let cid = Some(query.uint("cid")?).filter(|cid| *cid > 0);
        let state = State::read(query)?;
        let sort = Sort::read(query.text("sort"))?;
        sort.check(state)?;
        let account = query.text("acc").to_owned();
        let filter_subject = Some(query.option("filter_subject")).filter(|it| *it != ">");
        if account.is_empty() && filter_subject.is_some_and(|it| !it.is_empty()) {
            let text = "filter by subject only valid with account filtering";
            return Err(Refusal(text.to_owned()));
        }
        let mut paging = Paging::new(offset, limit, CONNECTIONS_LISTED_DEFAULT);
        if cid.is_some() {
            paging.limit = 1;
        }
        Ok(Self {
            sort,
            auth,
            subs,
            paging,
            cid,
            state,
            user: query.text("user").to_owned(),
            account,
            mqtt_client: query.text("mqtt_client").to_owned(),
            filter_subject: filter_subject.unwrap_or_default().to_owned(),
        })
    }

    /// Whether the subscriptions of open connections are looked at.
    pub(crate) fn needs_subs(&self) -> bool {
        self.subs != Subs::Hidden || !self.filter_subject.is_empty()
    }

    /// Whether an open connection with these subscriptions is meant.
    pub(crate) fn takes_subs(&self, subs: &[Subscription]) -> bool {
        self.filter_subject.is_empty()
            || subs
                .iter()
                .any(|sub| frond_subject::overlaps(&self.filter_subject, &sub.subject))
    }

    pub(crate) fn takes_user(&self, user: &str) -> bool {
        self.mqtt_client.is_empty() && (self.user.is_empty() || self.user == user)
    }
}

/// What stands for a state by a number that means none.
pub(crate) const NEITHER: &str = "neither";

impl State {
    fn read(query: &Query) -> Result<Self, Refusal> {
        if query.option("state") == NEITHER {
            return Ok(Self::Neither);
        }
        let text = query.text("state");
        match text.to_lowercase().as_str() {
            "" | "open" => Ok(Self::Open),
            "closed" => Ok(Self::Closed),
            "any" | "all" => Ok(Self::Any),
            _ => Err(Refusal(format!("Error decoding state for {text}"))),
        }
    }
}
