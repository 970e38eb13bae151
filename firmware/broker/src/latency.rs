//! How long services of other accounts take, published where the exporting account wants it.
//! spec: nats-server v2.15.1 server/accounts.go `ServiceLatency`, `shouldSample`,
//! `sendTrackingLatency`.

use std::time::Duration;

use frond_account::{AccountId, ResponseType, Sampling, Service, ServiceImport};
use frond_clock::Timestamp;
use frond_wire::{Message, encode, go_json};

use crate::client_info::{ClientInfo, field};
use crate::connection::{Hello, State};
use crate::publish::{Origin, Publication};
use crate::responses::{Lost, Response};
use crate::trace_headers::{TraceHeaders, asks_for_sample};
use crate::{Broker, Conn};

/// A request that is measured: the headers that asked for it.
#[derive(Debug)]
pub(crate) struct Sample(TraceHeaders);

/// What a measured request needs until its answer comes.
#[derive(Debug)]
pub(crate) struct Tracking {
    headers: TraceHeaders,
    /// Who asked, as it was then.
    requestor: ClientInfo,
    conn: Option<Conn>,
    origin: Origin,
    share: bool,
    /// Whether its answer came.
    done: bool,
}

/// One measurement.
struct Metric<'a> {
    status: u16,
    error: &'a str,
    requestor: Option<&'a ClientInfo>,
    responder: Option<&'a ClientInfo>,
    headers: &'a TraceHeaders,
    start: Timestamp,
    service: Duration,
    total: Duration,
}

/// A metric that has yet to be published.
#[derive(Debug)]
pub(crate) struct Notice {
    account: AccountId,
    subject: String,
    payload: String,
}

impl Broker {
    /// Whether this request is measured.
    pub(crate) fn sample(&mut self, service: &Service, header: &[u8]) -> Option<Sample> {
        let latency = service.latency.as_ref()?;
        match latency.sampling {
            Sampling::Percent(100) => return Some(Sample(Vec::new())),
            // One more than asked for, as nats-server draws.
            Sampling::Percent(percent) if self.rng.below(100) <= u64::from(percent) => {
                return Some(Sample(Vec::new()));
            }
            Sampling::Percent(_) | Sampling::Headers => {}
        }
        asks_for_sample(header).map(Sample)
    }

    /// A ping for a client whose distance isn't known yet.
    pub(crate) fn measure_rtt(&mut self, origin: Origin) {
        let Origin::Client { slot, .. } = origin else {
            return;
        };
        let now = self.now.mono;
        let Some(session) = self.conns.get_mut(slot).and_then(|c| c.session_mut()) else {
            return;
        };
        let told = matches!(
            session.state,
            State::Ready(Hello::Connected | Hello::Informed)
        );
        let ping = &mut session.ping;
        if !told || ping.rtt.or(ping.guess).is_some() || ping.sent.is_some() {
            return;
        }
        ping.out += 1;
        ping.sent = Some(now);
        self.write(slot, encode::ping);
    }

    pub(crate) fn tracked(
        &self,
        mut response: Response,
        import: &ServiceImport,
        sample: Option<Sample>,
        origin: Origin,
    ) -> Response {
        let Some(Sample(headers)) = sample.filter(|_| response.kind == ResponseType::Singleton)
        else {
            return response;
        };
        let conn = match origin {
            Origin::Client { slot, .. } => self.conns.get(slot).map(|c| c.conn),
            Origin::Internal | Origin::Link(_) => None,
        };
        response.tracking = Some(Box::new(Tracking {
            headers,
            requestor: self.info_of(origin, response.account, import.share),
            conn,
            origin,
            share: import.share,
            done: false,
        }));
        response
    }

    /// The first answer to a measured request.
    pub(crate) fn report_answer(&mut self, exporter: AccountId, name: &str, responder: Origin) {
        let wall = self.now.wall;
        let responder = match responder {
            Origin::Internal => None,
            Origin::Client { .. } | Origin::Link(_) => {
                Some(self.info_of(responder, exporter, true))
            }
        };
        let Some(state) = self.accounts.get_mut(exporter.0 as usize) else {
            return;
        };
        let Some(response) = state.sharing.responses.get_mut(name) else {
            return;
        };
        let (asker, since) = (response.account, response.since.wall);
        let service = std::sync::Arc::clone(&response.service);
        let Some(tracking) = response.tracking.as_mut().filter(|one| !one.done) else {
            return;
        };
        tracking.done = true;
        let headers = core::mem::take(&mut tracking.headers);
        let (origin, share, conn) = (tracking.origin, tracking.share, tracking.conn);
        let then = tracking.requestor.clone();
        let requestor = self.requestor(then, conn, origin, asker, share);
        let took = wall.since(since);
        let distance =
            |info: Option<&ClientInfo>| Duration::from_nanos(info.map_or(0, |info| info.rtt_nanos));
        let (near, far) = (distance(Some(&requestor)), distance(responder.as_ref()));
        self.notice(
            &service,
            Metric {
                status: 200,
                error: "",
                requestor: Some(&requestor),
                responder: responder.as_ref(),
                headers: &headers,
                start: earlier(since, near),
                service: took.saturating_sub(far),
                total: near + took,
            },
        );
    }

    /// A measured request without an answer.
    pub(crate) fn report_lost(&mut self, _: AccountId, response: &Response, why: Lost) {
        let (status, error) = match why {
            Lost::Answered => return,
            Lost::Undelivered => (503, "Service Unavailable"),
            Lost::Expired => (504, "Service Timeout"),
            Lost::Abandoned => (408, "Request Timeout"),
        };
        let Some(tracking) = response.tracking.as_ref().filter(|one| !one.done) else {
            return;
        };
        let requestor = self.requestor(
            tracking.requestor.clone(),
            tracking.conn,
            tracking.origin,
            response.account,
            tracking.share,
        );
        let near = Duration::from_nanos(requestor.rtt_nanos);
        self.notice(
            &response.service,
            Metric {
                status,
                error,
                requestor: Some(&requestor),
                responder: None,
                headers: &tracking.headers,
                start: earlier(response.since.wall, near),
                service: Duration::ZERO,
                total: Duration::ZERO,
            },
        );
    }

    /// A request that can't be answered: it names no subject for it.
    pub(crate) fn report_bad_request(
        &mut self,
        import: &ServiceImport,
        Sample(headers): Sample,
        origin: Origin,
    ) {
        let account = match origin {
            Origin::Client { slot, .. } => {
                let session = self.conns.get(slot).and_then(|c| c.session());
                session.map(|session| session.account)
            }
            Origin::Internal | Origin::Link(_) => None,
        };
        let account = account.unwrap_or_else(|| self.directory.default_account());
        let requestor = self.info_of(origin, account, import.share);
        let near = Duration::from_nanos(requestor.rtt_nanos);
        self.notice(
            &import.service,
            Metric {
                status: 400,
                error: "Bad Request",
                requestor: Some(&requestor),
                responder: None,
                headers: &headers,
                start: earlier(self.now.wall, near),
                service: Duration::ZERO,
                total: Duration::ZERO,
            },
        );
    }

    /// Who asked, as it is now if it is still there: its distance may have been measured since.
    fn requestor(
        &self,
        then: ClientInfo,
        conn: Option<Conn>,
        origin: Origin,
        account: AccountId,
        share: bool,
    ) -> ClientInfo {
        match conn {
            Some(conn) if self.by_conn.contains_key(&conn) => self.info_of(origin, account, share),
            Some(_) | None => then,
        }
    }

    /// Kept until nobody is in the middle of something.
    fn notice(&mut self, service: &Service, metric: Metric<'_>) {
        let Some(latency) = &service.latency else {
            return;
        };
        let id = self.rng.nuid();
        self.notices.push_back(Notice {
            account: service.account,
            subject: latency.subject.clone(),
            payload: metric.to_json(&id, self.now.wall),
        });
    }

    pub(crate) fn publish_notice(&mut self, notice: &Notice) {
        let message = Message {
            subject: &notice.subject,
            // As nats-server's own messages have it: there, and empty.
            reply: Some(""),
            header: &[],
            payload: notice.payload.as_bytes(),
        };
        self.publish(&Publication {
            account: notice.account,
            message: &message,
            shown: None,
            origin: Origin::Internal,
            leaf_cluster: None,
            queues: None,
            hop: None,
            is_answer: false,
        });
    }
}

impl Metric<'_> {
    fn to_json(&self, id: &str, now: Timestamp) -> String {
        let mut json = String::from("{");
        let text = |json: &mut String, key: &str, value: &str| {
            field(json, key, &go_json::to_string(&value));
        };
        text(
            &mut json,
            "type",
            "io.nats.server.metric.v1.service_latency",
        );
        text(&mut json, "id", id);
        text(&mut json, "timestamp", &now.to_string());
        field(&mut json, "status", &self.status.to_string());
        if !self.error.is_empty() {
            text(&mut json, "description", self.error);
        }
        if let Some(requestor) = self.requestor {
            field(&mut json, "requestor", &requestor.to_json());
        }
        if let Some(responder) = self.responder {
            field(&mut json, "responder", &responder.to_json());
        }
        if !self.headers.is_empty() {
            field(&mut json, "header", &headers_json(self.headers));
        }
        text(&mut json, "start", &self.start.to_string());
        field(&mut json, "service", &self.service.as_nanos().to_string());
        field(&mut json, "system", "0");
        field(&mut json, "total", &self.total.as_nanos().to_string());
        json.push('}');
        json
    }
}

fn headers_json(headers: &TraceHeaders) -> String {
    let mut json = String::from("{");
    for (key, values) in headers {
        field(&mut json, key, &go_json::to_string(values));
    }
    json.push('}');
    json
}

fn earlier(at: Timestamp, by: Duration) -> Timestamp {
    let by = i64::try_from(by.as_nanos()).unwrap_or(i64::MAX);
    Timestamp::from_nanos(at.as_nanos().saturating_sub(by))
}
