use frond_node::View;
use serde::Serialize;

use crate::endpoint::Endpoint;
use crate::gather::{self, Depth};
use crate::page::{JSON, Page};
use crate::query::{Query, Refusal, Subs};
use crate::text::{compact, pretty};
use crate::{Process, accountz, accstatz, clusters, connz, healthz, jsz, leafz, root, subsz, varz};

/// Answers a request for `path` with the parameters `query` (what follows the `?`, empty
/// without); `None` when there is nothing at that path: status 404.
#[must_use]
pub fn render(view: &View<'_>, path: &str, query: &str, process: &Process<'_>) -> Option<Page> {
    let (_, endpoint) = Endpoint::find(&view.config.monitor_base_path, path)?;
    let query = Query::parse(query);
    let answer = match endpoint {
        Endpoint::Root => Ok(root::page(&gather::server(view), path)),
        Endpoint::Varz => Ok(document(&varz_of(view, process))),
        Endpoint::Connz => connz_of(view, &query),
        Endpoint::Subsz => subsz_of(view, &query),
        Endpoint::Leafz => leafz::document(&gather::server(view), &query, gather::leafs(view))
            .map(|it| document(&it)),
        Endpoint::Jsz => jsz_of(view, &query),
        Endpoint::Healthz => healthz_of(view, &query),
        Endpoint::Accountz => {
            let accounts = gather::accounts(view);
            accountz::document(
                &gather::server(view),
                &query,
                accounts,
                gather::loaded(view),
            )
            .map(|it| document(&it))
        }
        Endpoint::Accstatz => {
            accstatz::document(&gather::server(view), &query, gather::accounts(view))
                .map(|it| document(&it))
        }
        Endpoint::Routez => clusters::routez(&gather::server(view), &query).map(|it| document(&it)),
        Endpoint::Gatewayz => {
            clusters::gatewayz(&gather::server(view), &query).map(|it| document(&it))
        }
    };
    Some(answer.unwrap_or_else(|Refusal(text)| Page::refused(text)))
}

fn document(document: &impl Serialize) -> Page {
    Page::json(pretty(document))
}

fn varz_of<'a>(view: &View<'_>, process: &Process<'a>) -> varz::Varz<'a> {
    varz::document(
        &gather::server(view),
        gather::facts(view),
        gather::jetstream_varz(view),
        &gather::counts(view),
        process,
    )
}

fn connz_of(view: &View<'_>, query: &Query) -> Result<Page, Refusal> {
    let options = connz::Options::read(query)?;
    let with_subs = options.subs != Subs::Hidden;
    let (open, closed) = match options.state {
        connz::State::Open => (gather::connections(view, with_subs), Vec::new()),
        connz::State::Closed => (Vec::new(), gather::closed(view)),
        connz::State::Any => (gather::connections(view, with_subs), gather::closed(view)),
    };
    let knows = |name: &str| view.broker.directory().find(name).is_some();
    Ok(document(&connz::document(
        &gather::server(view),
        &options,
        knows,
        open,
        closed,
    )))
}

fn subsz_of(view: &View<'_>, query: &Query) -> Result<Page, Refusal> {
    let options = subsz::Options::read(query)?;
    let subs = if options.list {
        gather::subscriptions(view)
    } else {
        Vec::new()
    };
    let accounts = gather::accounts(view);
    Ok(document(&subsz::document(
        &gather::server(view),
        &options,
        &accounts,
        subs,
    )))
}

fn jsz_of(view: &View<'_>, query: &Query) -> Result<Page, Refusal> {
    let options = jsz::Options::read(query)?;
    let jetstream = gather::jetstream(view, Depth::Streams);
    jsz::document(&gather::server(view), &options, jetstream).map(|it| document(&it))
}

fn healthz_of(view: &View<'_>, query: &Query) -> Result<Page, Refusal> {
    let options = healthz::Options::read(query)?;
    let state = match gather::jetstream(view, Depth::Streams) {
        Some(jetstream) => healthz::State::On(jetstream),
        None if view.config.jetstream.enabled => healthz::State::Missing,
        None => healthz::State::Unwanted,
    };
    let (status, health) = healthz::document(&options, &state);
    Ok(Page {
        status,
        content_type: JSON,
        body: compact(&health),
    })
}
