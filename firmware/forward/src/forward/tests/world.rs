//! A box and a hub that know as much of JetStream as a forward block asks for, with a line between
//! them that can be cut at any moment.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use data_encoding::BASE64;
use frond_clock::{Instant, Now, Rng, Timestamp};
use frond_config::{Forward as Options, ForwardTo, OnFull, Order};
use serde_json::{Value, json};

use super::super::{Forward, Setup};
use super::line::Line;
use crate::io::{Input, Letter, Message, Output};
use crate::words;

pub(super) type Kept = BTreeMap<u64, (String, Vec<u8>, Vec<u8>)>;

pub(super) struct World {
    pub(super) block: Forward,
    pub(super) now: Now,
    pub(super) own: Kept,
    pub(super) own_last: u64,
    own_exists: bool,
    own_created: u32,
    pub(super) mark: Option<Vec<u8>>,
    /// A version before this one wrote the mark.
    pub(super) is_mark_former: bool,
    /// No message is kept here any more, and all else is.
    pub(super) is_full: bool,
    own_metadata: Value,
    pub(super) hub: Kept,
    pub(super) hub_last: u64,
    hub_ids: Vec<(u64, Option<String>)>,
    /// The hub takes what it has no second time.
    pub(super) knows_ids: bool,
    pub(super) hub_exists: bool,
    pub(super) hub_refuses: Option<u64>,
    /// Larger payloads are not carried there.
    pub(super) carries: usize,
    /// Another stream of the box hears what goes to the hub, and answers first.
    pub(super) is_overheard: bool,
    /// The hub takes nothing and says nothing.
    pub(super) is_mute: bool,
    pub(super) is_up: bool,
    /// The line, when it is slow.
    pub(super) line: Option<Line>,
    /// How many of a hundred things that cross the line are lost.
    pub(super) loss: u64,
    pub(super) rng: Rng,
    pub(super) news: Option<String>,
    inbox: VecDeque<Heard>,
    runs: u64,
    options: Options,
}

pub(super) struct Heard {
    sid: u32,
    subject: String,
    reply: Option<String>,
    header: Vec<u8>,
    payload: Vec<u8>,
}

/// Where versions before this one kept the mark.
const FORMER_MARK: &str = "$FROND.forward.F";
const CREATED: &str = "2026-01-01T00:00:00.5Z";

pub(super) fn options(order: Order) -> Options {
    Options {
        name: "F".to_owned(),
        subjects: vec!["a.>".to_owned()],
        to: ForwardTo {
            domain: "hub".to_owned(),
            ..ForwardTo::default()
        },
        budget: None,
        order,
        live_first: true,
        priority: vec!["a.top".to_owned()],
        on_full: OnFull::DropOldest,
        max_bytes: 1 << 20,
    }
}

fn setup(options: &Options, run: u64) -> Setup {
    Setup {
        options: options.clone(),
        server_name: "box".to_owned(),
        own_domain: None,
        account: "$G".to_owned(),
        url: "nats://hub:7422".to_owned(),
        inbox: format!("_INBOX.r{run}"),
        payload_max: 4_096,
        line_max: 1_024,
    }
}

impl World {
    pub(super) fn new(options: Options, seed: u64) -> Self {
        let now = Now {
            mono: Instant::START,
            wall: Timestamp::parse_rfc3339("2026-03-04T05:06:07Z").unwrap(),
        };
        let mut it = Self {
            block: Forward::new(now, setup(&options, 0)),
            now,
            own: Kept::new(),
            own_last: 0,
            own_exists: false,
            own_created: 0,
            mark: None,
            is_mark_former: false,
            is_full: false,
            own_metadata: Value::Null,
            hub: Kept::new(),
            hub_last: 0,
            hub_ids: Vec::new(),
            knows_ids: false,
            hub_exists: false,
            hub_refuses: None,
            carries: usize::MAX,
            is_overheard: false,
            is_mute: false,
            is_up: true,
            line: None,
            loss: 0,
            rng: Rng::seeded(seed),
            news: None,
            inbox: VecDeque::new(),
            runs: 0,
            options,
        };
        it.start();
        it
    }

    /// kill -9, and the next start.
    pub(super) fn restart(&mut self) {
        self.runs += 1;
        self.block = Forward::new(self.now, setup(&self.options, self.runs));
        self.start();
    }

    fn start(&mut self) {
        self.inbox.clear();
        self.news = None;
        self.block.handle(self.now, Input::Trust(true));
        self.block.handle(self.now, Input::Connected);
    }

    pub(super) fn publish(&mut self, subject: &str, payload: &str) {
        self.publish_with(subject, b"", payload.as_bytes());
    }

    pub(super) fn publish_with(&mut self, subject: &str, header: &[u8], payload: &[u8]) {
        if !self.own_exists && self.own_created > 0 {
            return;
        }
        if self.options.order == Order::Latest {
            self.own.retain(|_, (other, _, _)| other != subject);
        }
        self.own_last += 1;
        let kept = (subject.to_owned(), header.to_vec(), payload.to_vec());
        self.own.insert(self.own_last, kept);
        if let Some(news) = &self.news {
            let reply = format!("$JS.ACK.F.{news}.1.{}.1.0.0", self.own_last);
            let size = format!("Nats-Msg-Size: {}", payload.len());
            self.inbox.push_back(Heard {
                sid: 2,
                subject: subject.to_owned(),
                reply: Some(reply),
                header: added(header, &size),
                payload: Vec::new(),
            });
        }
    }

    /// Somebody else writes into the hub's stream.
    pub(super) fn intrude(&mut self) {
        self.hub_last += 1;
        let kept = ("a.x".to_owned(), Vec::new(), b"intruder".to_vec());
        self.hub.insert(self.hub_last, kept);
    }

    /// An operator removes the box's stream, and with it who tells of new messages.
    pub(super) fn delete_own(&mut self) {
        self.own.clear();
        self.own_last = 0;
        self.own_exists = false;
        self.news = None;
    }

    /// Carries out at most `steps` things; whether that was all.
    pub(super) fn step(&mut self, steps: usize) -> bool {
        for _ in 0..steps {
            if let Some(output) = self.block.poll() {
                match output {
                    Output::Publish(letter) => self.carry(letter),
                    Output::Subscribe { .. } | Output::Log(..) => {}
                }
            } else if let Some(heard) = self.inbox.pop_front() {
                let message = Message {
                    sid: heard.sid,
                    subject: &heard.subject,
                    reply: heard.reply.as_deref(),
                    header: &heard.header,
                    payload: &heard.payload,
                };
                self.block.handle(self.now, Input::Message(message));
            } else if let Some(letter) = self.line.as_mut().and_then(|it| it.up.due(self.now.mono))
            {
                self.reach_hub(&letter);
            } else if let Some(heard) = self.line.as_mut().and_then(|it| it.down.due(self.now.mono))
            {
                self.inbox.push_back(heard);
            } else {
                return true;
            }
        }
        false
    }

    /// Until nothing more happens by itself.
    pub(super) fn quiesce(&mut self) {
        assert!(self.step(1_000_000), "it never rests");
    }

    pub(super) fn pass(&mut self, time: Duration) {
        self.now.mono = self.now.mono + time;
        self.now.wall = self.now.wall + time;
        if self.news.is_some() {
            self.inbox.push_back(Heard {
                sid: 2,
                subject: "news".to_owned(),
                reply: None,
                header: b"NATS/1.0 100 Idle Heartbeat\r\n\r\n".to_vec(),
                payload: Vec::new(),
            });
        }
        self.block.handle(self.now, Input::Time);
    }

    /// Deadline after deadline, for at most that long.
    pub(super) fn live(&mut self, most: Duration) {
        let end = self.now.mono + most;
        loop {
            self.quiesce();
            let line = self.line.as_ref().and_then(Line::next);
            match self.block.deadline().into_iter().chain(line).min() {
                Some(at) if at <= end => {
                    let time = at.since(self.now.mono);
                    self.pass(time.max(Duration::from_millis(1)));
                }
                Some(_) | None => break,
            }
        }
        if self.now.mono < end {
            // The time passes, whether anything is due or not.
            self.pass(end.since(self.now.mono));
            self.quiesce();
        }
    }

    pub(super) fn hubs(&self) -> Vec<String> {
        let all = self.hub.values();
        all.map(|(_, _, payload)| String::from_utf8(payload.clone()).unwrap())
            .collect()
    }

    fn carry(&mut self, letter: Letter) {
        let crosses = letter.subject.starts_with("$JS.hub.") || letter.subject.starts_with("$FWD.");
        if !crosses {
            return self.at_box(&letter);
        }
        if !self.is_up {
            return self.answer(&letter.reply, b"NATS/1.0 503\r\n\r\n", b"");
        }
        if letter.subject.starts_with("$FWD.") {
            if letter.payload.len() > self.carries {
                return self.answer(&letter.reply, b"NATS/1.0 503\r\n\r\n", b"");
            }
            if self.is_overheard {
                let seq = letter.reply.rsplit('.').next().unwrap();
                let ack = format!("{{\"stream\":\"ALL\",\"domain\":\"box\",\"seq\":{seq}}}");
                self.answer(&letter.reply, b"", ack.as_bytes());
            }
            if self.is_mute {
                return;
            }
        }
        if self.rng.below(100) < self.loss {
            return;
        }
        match &mut self.line {
            None => self.reach_hub(&letter),
            Some(line) => {
                let bytes = letter.subject.len() + letter.header.len() + letter.payload.len();
                line.up.send(self.now.mono, bytes, letter);
            }
        }
    }

    fn reach_hub(&mut self, letter: &Letter) {
        let answer = self.at_hub(letter);
        if self.rng.below(100) < self.loss {
            return;
        }
        let (header, payload): (&[u8], _) = match answer {
            Some(json) => (b"", json.to_string()),
            None => (b"NATS/1.0 503\r\n\r\n", String::new()),
        };
        let heard = Heard::answer(&letter.reply, header, payload.as_bytes());
        match &mut self.line {
            None => self.inbox.push_back(heard),
            Some(line) => line.down.send(self.now.mono, payload.len() + 40, heard),
        }
    }

    fn at_box(&mut self, letter: &Letter) {
        let what = letter.subject.strip_prefix("$JS.API.");
        let body: Value = serde_json::from_slice(&letter.payload).unwrap_or_default();
        let json = match what {
            None if self.is_full => fault(10_023),
            None => {
                self.mark = Some(letter.payload.clone());
                self.is_mark_former = false;
                json!({"stream": "FROND_FORWARD", "seq": 1})
            }
            Some("STREAM.CREATE.F" | "STREAM.UPDATE.F") => {
                self.own_created += u32::from(!self.own_exists);
                self.own_exists = true;
                self.own_metadata = body["metadata"].clone();
                self.own_info()
            }
            Some("STREAM.INFO.F") if self.own_exists => self.own_info(),
            Some("STREAM.INFO.F") => fault(10_059),
            Some("STREAM.MSG.GET.FROND_FORWARD") => match &self.mark {
                Some(_) if self.is_mark_former == (body["last_by_subj"] != FORMER_MARK) => {
                    fault(10_037)
                }
                Some(mark) => json!({"message": {"data": BASE64.encode(mark)}}),
                None => fault(10_037),
            },
            Some("STREAM.MSG.DELETE.F") => match self.own.remove(&body["seq"].as_u64().unwrap()) {
                Some(_) => json!({"success": true}),
                None => fault(10_043),
            },
            Some("DIRECT.GET.F") => return self.direct(letter, &body),
            Some(what) if what.starts_with("CONSUMER.CREATE.F.") && !self.own_exists => {
                fault(10_059)
            }
            Some(what) if what.starts_with("CONSUMER.CREATE.F.") => {
                self.news = Some("news".to_owned());
                json!({"name": "news"})
            }
            Some(_) => json!({"did_create": true}),
        };
        self.answer(&letter.reply, b"", json.to_string().as_bytes());
    }

    fn direct(&mut self, letter: &Letter, body: &Value) {
        let from = body["seq"].as_u64().unwrap();
        let filter = body["next_by_subj"].as_str().unwrap();
        let batch = usize::try_from(body["batch"].as_u64().unwrap()).unwrap();
        let all = self.own.range(from..);
        let all = all.filter(|(_, (subject, _, _))| frond_subject::matches(filter, subject));
        let all: Vec<_> = all.map(|(seq, it)| (*seq, it.clone())).collect();
        if all.is_empty() {
            return self.answer(&letter.reply, b"NATS/1.0 404\r\n\r\n", b"");
        }
        let left = all.len().saturating_sub(batch);
        for (seq, (subject, header, payload)) in all.into_iter().take(batch) {
            let words = format!(
                "Nats-Stream: F\r\nNats-Subject: {subject}\r\nNats-Sequence: {seq}\r\n\
                 Nats-Time-Stamp: {CREATED}\r\nNats-Num-Pending: 1"
            );
            self.answer(&letter.reply, &added(&header, &words), &payload);
        }
        let end = format!("NATS/1.0 204 EOB\r\nNats-Num-Pending: {left}\r\n\r\n");
        self.answer(&letter.reply, end.as_bytes(), b"");
    }

    fn at_hub(&mut self, letter: &Letter) -> Option<Value> {
        if let Some(subject) = letter.subject.strip_prefix("$FWD.box.F.") {
            let expected = words::value(&letter.header, "Nats-Expected-Last-Sequence");
            let expected: u64 = expected.unwrap().parse().unwrap();
            if let Some(code) = self.hub_refuses {
                return Some(fault(code));
            }
            if !self.hub_exists {
                return None;
            }
            let id = words::value(&letter.header, "Nats-Msg-Id").map(ToOwned::to_owned);
            let same = |it: &&(u64, Option<String>)| self.knows_ids && it.1 == id;
            if let Some((seq, _)) = self.hub_ids.iter().find(same) {
                return Some(json!({
                    "stream": "FWD_box_F", "seq": seq, "domain": "hub", "duplicate": true,
                }));
            }
            if expected != self.hub_last {
                return Some(fault(10_071));
            }
            self.hub_last += 1;
            self.hub_ids.push((self.hub_last, id));
            let kept = (
                subject.to_owned(),
                letter.header.clone(),
                letter.payload.clone(),
            );
            self.hub.insert(self.hub_last, kept);
            return Some(json!({"stream": "FWD_box_F", "seq": self.hub_last, "domain": "hub"}));
        }
        let body: Value = serde_json::from_slice(&letter.payload).unwrap_or_default();
        Some(match letter.subject.strip_prefix("$JS.hub.API.").unwrap() {
            "STREAM.CREATE.FWD_box_F" => {
                self.hub_exists = true;
                self.hub_info()
            }
            "STREAM.INFO.FWD_box_F" if self.hub_exists => self.hub_info(),
            "STREAM.MSG.GET.FWD_box_F" => match self.hub.get(&body["seq"].as_u64().unwrap()) {
                Some((_, header, payload)) => {
                    let (hdrs, data) = (BASE64.encode(header), BASE64.encode(payload));
                    json!({"message": {"hdrs": hdrs, "data": data}})
                }
                None => fault(10_037),
            },
            _ => fault(10_059),
        })
    }

    fn own_info(&self) -> Value {
        let bytes: usize = self
            .own
            .values()
            .map(|it| it.0.len() + it.2.len() + 40)
            .sum();
        json!({
            "created": format!("2026-01-01T00:00:{:02}.5Z", self.own_created),
            "config": {"metadata": self.own_metadata},
            "state": {
                "messages": self.own.len(), "bytes": bytes, "last_seq": self.own_last,
                "first_seq": self.own.keys().next().copied().unwrap_or(self.own_last + 1),
                "first_ts": CREATED,
            },
        })
    }

    fn hub_info(&self) -> Value {
        json!({
            "created": "2026-01-02T00:00:00Z", "config": {"subjects": ["$FWD.box.F.>"]},
            "state": {"messages": self.hub.len(), "last_seq": self.hub_last},
        })
    }

    fn answer(&mut self, reply: &str, header: &[u8], payload: &[u8]) {
        let heard = Heard::answer(reply, header, payload);
        self.inbox.push_back(heard);
    }
}

impl Heard {
    fn answer(reply: &str, header: &[u8], payload: &[u8]) -> Self {
        Self {
            sid: 1,
            subject: reply.to_owned(),
            reply: None,
            header: header.to_vec(),
            payload: payload.to_vec(),
        }
    }
}

/// As a server adds to a header.
fn added(header: &[u8], lines: &str) -> Vec<u8> {
    let mut all = match header.strip_suffix(b"\r\n") {
        Some(header) => header.to_vec(),
        None => b"NATS/1.0\r\n".to_vec(),
    };
    all.extend_from_slice(format!("{lines}\r\n\r\n").as_bytes());
    all
}

fn fault(code: u64) -> Value {
    json!({"error": {"code": 400, "err_code": code, "description": format!("fault {code}")}})
}
