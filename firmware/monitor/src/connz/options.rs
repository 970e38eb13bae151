use crate::connz::order::Sort;
use crate::limits::CONNECTIONS_LISTED_DEFAULT;
use crate::paging::Paging;
use crate::query::{Query, Refusal, Subs};

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
    /// Only of this MQTT client: there are none.
    mqtt_client: String,
}

/// Open connections, or the ring of those that are gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Open,
    Closed,
    Any,
}

impl Options {
    /// The parameters are looked at in nats-server's order: the first that is wrong is told.
    pub(crate) fn read(query: &Query) -> Result<Self, Refusal> {
        let auth = query.flag("auth")?;
        let subs = query.subs()?;
        let offset = query.int("offset")?;
        let limit = query.int("limit")?;
        let cid = Some(query.uint("cid")?).filter(|cid| *cid > 0);
        let state = State::read(query.text("state"))?;
        let sort = Sort::read(query.text("sort"))?;
        sort.check(state)?;
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
            account: query.text("acc").to_owned(),
            mqtt_client: query.text("mqtt_client").to_owned(),
        })
    }

    pub(crate) fn takes_user(&self, user: &str) -> bool {
        self.mqtt_client.is_empty() && (self.user.is_empty() || self.user == user)
    }
}

impl State {
    fn read(text: &str) -> Result<Self, Refusal> {
        match text.to_lowercase().as_str() {
            "" | "open" => Ok(Self::Open),
            "closed" => Ok(Self::Closed),
            "any" | "all" => Ok(Self::Any),
            _ => Err(Refusal(format!("Error decoding state for {text}"))),
        }
    }
}
