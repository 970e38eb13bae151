use frond_node::View;
use serde::Serialize;

use crate::endpoint::Endpoint;
use crate::gather::{self, Depth};
use crate::page::{JSON, METRICS, Page, VARIABLES};
use crate::query::{Query, Refusal};
use crate::status::Seen;
use crate::text::{compact, pretty};
use crate::{
    Process, accountz, accstatz, connz, expvarz, gatewayz, healthz, ipqueuesz, jsz, leafz, metrics,
    root, routez, stacksz, statsz, status, subsz, varz,
};

/// How a document is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// On many lines, for people.
    Lines,
    /// For programs: the system account.
    OneLine,
}

/// Everything an answer is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) view: &'a View<'a>,
    pub(crate) process: &'a Process<'a>,
    pub(crate) query: &'a Query,
    pub(crate) form: Form,
    /// How much of what is private.
    pub(crate) seen: &'a Seen,
}

impl Asked<'_> {
    /// The document, which was asked for at `path`.
    pub(crate) fn answer(&self, endpoint: Endpoint, path: &str) -> Result<Page, Refusal> {
        let (view, query, server) = (self.view, self.query, gather::server(self.view));
        match endpoint {
            Endpoint::Root => Ok(root::page(&server, view.config.fleet.is_some(), path)),
            Endpoint::Varz => Ok(self.page(&self.varz())),
            Endpoint::Connz => Ok(self.page(&self.connz()?)),
            Endpoint::Subsz => Ok(self.page(&self.subsz()?)),
            Endpoint::Leafz => {
                let document =
                    leafz::document(&server, query, gather::leafs(view), gather::hubs(view))?;
                Ok(self.page(&document))
            }
            Endpoint::Jsz => {
                let options = jsz::Options::read(query)?;
                let jetstream = gather::jetstream(view, Depth::Streams);
                Ok(self.page(&jsz::document(&server, &options, jetstream)?))
            }
            Endpoint::Healthz => self.healthz(),
            Endpoint::Accountz => {
                let accounts = gather::accounts(view);
                let loaded = self.process.config_loaded;
                let sharing = |name: &str| gather::sharing(view, name);
                let document = accountz::document(&server, query, accounts, sharing, loaded)?;
                Ok(self.page(&document))
            }
            Endpoint::Accstatz => {
                let document = accstatz::document(&server, query, gather::accounts(view))?;
                Ok(self.page(&document))
            }
            Endpoint::Routez => {
                let (own, routes) = (gather::crossing(view), gather::routes(view));
                Ok(self.page(&routez::document(&server, query, own, routes)?))
            }
            Endpoint::Gatewayz => {
                let (own, gateways) = (gather::own_gateway(view), gather::gateways(view));
                Ok(self.page(&gatewayz::document(&server, query, own, gateways)?))
            }
            Endpoint::Raftz => Ok(self.raftz()),
            Endpoint::Ipqueuesz => Ok(self.page(&ipqueuesz::document(query)?)),
            Endpoint::Expvarz => Ok(Page {
                content_type: VARIABLES,
                ..self.page(&expvarz::document(self.process))
            }),
            Endpoint::Profilez => Ok(self.page(&expvarz::profilez(query.text("name")))),
            Endpoint::Metrics => self.metrics(),
            Endpoint::Status => Ok(status::page()),
            Endpoint::StatusJson => Ok(self.page(&status::document(view, self.process, self.seen))),
            Endpoint::Statsz => Ok(self.page(&statsz::document(view, self.process))),
            Endpoint::Stacksz => Ok(stacksz::page(&(self.process.threads)())),
        }
    }

    /// JetStream of one account, as only the system account is asked for it.
    pub(crate) fn jetstream_of(&self, account: &str) -> Result<Page, Refusal> {
        let options = jsz::Options::read(self.query)?;
        let knows = self.view.broker.directory().find(account).is_some();
        let server = gather::server(self.view);
        let jetstream = gather::jetstream(self.view, Depth::Streams);
        let detail = jsz::account(&server, &options, account, knows, jetstream)?;
        Ok(self.page(&detail))
    }

    /// What is known of an account, as only the system account is asked for it.
    pub(crate) fn account_of(&self, account: &str) -> Result<Page, Refusal> {
        let (accounts, loaded) = (gather::accounts(self.view), self.process.config_loaded);
        let sharing = |name: &str| gather::sharing(self.view, name);
        Ok(self.page(&accountz::detail(
            account,
            accounts,
            sharing,
            (loaded, self.view.now.wall),
        )?))
    }

    /// What accounts sent and got; `None` when there is none to tell of, unless that was asked for.
    pub(crate) fn account_statz(&self) -> Option<Result<Page, Refusal>> {
        let server = gather::server(self.view);
        match accstatz::document(&server, self.query, gather::accounts(self.view)) {
            Ok(document) if document.is_silent(self.query) => None,
            Ok(document) => Some(Ok(self.page(&document))),
            Err(refusal) => Some(Err(refusal)),
        }
    }

    fn page(&self, document: &impl Serialize) -> Page {
        Page::json(match self.form {
            Form::Lines => pretty(document),
            Form::OneLine => compact(document),
        })
    }

    /// Numbers out of the other documents.
    fn metrics(&self) -> Result<Page, Refusal> {
        let value = |endpoint, query: &str| {
            let query = Query::parse(query);
            let form = Form::OneLine;
            let page = Asked {
                query: &query,
                form,
                ..*self
            }
            .answer(endpoint, "")?;
            Ok(serde_json::from_str(&page.body).unwrap_or_default())
        };
        let accounts = gather::accounts(self.view);
        let accounts = accounts.into_iter().map(|account| {
            let page = self.account_of(&account.name)?;
            Ok(serde_json::from_str(&page.body).unwrap_or_default())
        });
        let documents = metrics::Documents {
            varz: value(Endpoint::Varz, "")?,
            connz: value(Endpoint::Connz, "")?,
            subsz: value(Endpoint::Subsz, "")?,
            routez: value(Endpoint::Routez, "")?,
            leafz: value(Endpoint::Leafz, "")?,
            accstatz: value(Endpoint::Accstatz, "unused=1")?,
            accounts: accounts.collect::<Result<_, Refusal>>()?,
            jsz: value(Endpoint::Jsz, "consumers=true&config=true&raft=true")?,
            healthz: [
                value(Endpoint::Healthz, "")?,
                value(Endpoint::Healthz, "js-enabled-only=true")?,
                value(Endpoint::Healthz, "js-server-only=true")?,
            ],
            uplinks: gather::uplinks(self.view),
        };
        Ok(Page {
            status: 200,
            content_type: METRICS,
            body: metrics::text(&documents),
        })
    }

    fn varz(&self) -> varz::Varz<'_> {
        let view = self.view;
        varz::document(
            &gather::server(view),
            gather::facts(view),
            gather::jetstream_varz(view),
            &gather::counts(view),
            self.process,
        )
    }

    fn connz(&self) -> Result<connz::Connz, Refusal> {
        let view = self.view;
        let options = connz::Options::read(self.query)?;
        let with_subs = options.needs_subs();
        let open = || gather::connections(view, with_subs);
        let (open, closed) = match options.state {
            connz::State::Open => (open(), Vec::new()),
            connz::State::Closed => (Vec::new(), gather::closed(view)),
            connz::State::Any => (open(), gather::closed(view)),
            connz::State::Neither => (Vec::new(), Vec::new()),
        };
        let knows = |name: &str| view.broker.directory().find(name).is_some();
        let server = gather::server(view);
        Ok(connz::document(&server, &options, knows, open, closed))
    }

    fn subsz(&self) -> Result<subsz::Subsz, Refusal> {
        let options = subsz::Options::read(self.query)?;
        let subs = if options.list {
            gather::subscriptions(self.view)
        } else {
            Vec::new()
        };
        let accounts = gather::accounts(self.view);
        let server = gather::server(self.view);
        Ok(subsz::document(&server, &options, &accounts, subs))
    }

    fn healthz(&self) -> Result<Page, Refusal> {
        let options = healthz::Options::read(self.query)?;
        let state = match gather::jetstream(self.view, Depth::Streams) {
            Some(jetstream) => healthz::State::On(jetstream),
            None if self.view.config.jetstream.enabled => healthz::State::Missing,
            None => healthz::State::Unwanted,
        };
        let absent = gather::absent_listeners(self.view);
        let remotes = gather::hubs(self.view);
        let (status, mut health) = healthz::document(&options, &absent, &remotes, &state);
        if self.form == Form::OneLine {
            health.status_code = status;
        }
        Ok(Page {
            status,
            content_type: JSON,
            body: compact(&health),
        })
    }

    /// No groups: no document over HTTP, an empty one over the system account.
    fn raftz(&self) -> Page {
        match self.form {
            Form::Lines => Page::missing("No Raft nodes registered"),
            Form::OneLine => Page::json("{}".to_owned()),
        }
    }
}
