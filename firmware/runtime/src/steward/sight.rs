use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use frond_broker::LinkDetail;
use frond_clock::Trust;
use tokio::net::TcpStream;
use tokio::sync::mpsc::UnboundedSender;

use frond_node::View;

use super::{Backlog, News, Sight, Vitals, login, vitals};
use crate::core::Core;

/// How long a listener may take to answer.
const ANSWER_TIME: Duration = Duration::from_secs(3);

/// Looks at the server, and knocks at each of its doors.
pub(super) async fn look(core: Rc<Core>, news: UnboundedSender<News>) {
    let now = core.clock().now();
    let forwards = core.forwards().statuses();
    let (mut sight, doors) = core.with_node(|node| {
        let view = node.view(now);
        let statuses = view.broker.link_statuses();
        let hubs: Vec<_> = statuses
            .filter(|(.., it)| it.detail == LinkDetail::Leaf && !it.urls.is_empty())
            .collect();
        let lines = hubs
            .iter()
            .filter_map(|(_, conn, _)| view.broker.line((*conn)?));
        let clients = view.broker.clients().filter(|it| it.name != login::NAME);
        let clients = clients.map(|client| {
            let directory = view.broker.directory();
            let account = client.account.and_then(|id| directory.account(id));
            let account = account.map_or("", |account| &account.name);
            format!("{account}/{}", client.user)
        });
        let sight = Sight {
            server: view.broker.facts().name.clone(),
            uplinks: hubs.len(),
            uplinks_up: hubs.iter().filter(|(.., it)| it.state == "up").count(),
            clients: clients.collect(),
            listeners: Ok(()),
            jetstream: view.streams.is_some(),
            streams: streams(&view),
            clock_trusted: core.clock().trust() == Trust::Trusted,
            vitals: Vitals {
                backlog: Backlog::of(&forwards, lines.map(|it| wide(it.pending_bytes)).sum()),
                disk: disk(&view),
                temperature_c: vitals::temperature_c(),
                wear_percent: vitals::wear_percent(),
                certificate_ends_s: vitals::first_end_s(&core.meter().borrow().certs()),
            },
        };
        let config = view.config;
        let host = |it: &Option<frond_config::Listen>| it.as_ref().map(|it| it.host.clone());
        let doors = [
            ("client", Some(config.host.clone()), view.client_port),
            ("monitoring", host(&config.monitor), view.monitor_port),
            ("leafnode", host(&config.leafnodes.listen), view.leaf_port),
            (
                "websocket",
                host(&config.websocket.listen),
                view.websocket_port,
            ),
        ];
        (sight, doors)
    });
    for (name, host, port) in doors {
        let Some(host) = host else { continue };
        if let Err(why) = knock(&host, port).await {
            sight.listeners = Err(format!("the {name} port {port} does not answer: {why}"));
        }
    }
    let _ = news.send(News::Seen(Box::new(sight)));
}

/// What is kept, and how much of it there may be.
fn disk(view: &View<'_>) -> Option<(u64, u64)> {
    let streams = view.streams?;
    let used = streams.machine.view().usage().storage;
    Some((used, streams.limits.file_bytes_max))
}

/// Those that are there after a start as well.
fn streams(view: &View<'_>) -> BTreeSet<(String, String)> {
    let machine = view.streams.map(|it| it.machine.view());
    let accounts = machine
        .into_iter()
        .flat_map(|it| it.accounts().map(move |account| (it, account)));
    let named = accounts.flat_map(|(machine, account)| {
        let all = machine.summaries(account.tenant);
        let kept = all.filter(|it| it.is_on_disk);
        kept.map(move |it| (account.name.to_owned(), it.name.to_owned()))
    });
    named.collect()
}

fn wide(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

async fn knock(host: &str, port: u16) -> Result<(), String> {
    let host = match host.trim_start_matches('[').trim_end_matches(']') {
        "0.0.0.0" | "::" | "" => "127.0.0.1",
        host => host,
    };
    match tokio::time::timeout(ANSWER_TIME, TcpStream::connect((host, port))).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("it takes too long".to_owned()),
    }
}
