use std::collections::BTreeMap;

use frond_broker::{Conn, LinkId, Output};
use frond_clock::{Instant, Now, Rng, Timestamp};

use super::client::Received;
use super::judge::Judge;
use super::line::{Chunk, Line, MILLI, SECOND};
use super::side::{Side, arrival};
use super::topics::End;
use super::trace::Trace;
use super::{Report, Variant};

/// Everything there is, and the time.
#[derive(Debug)]
pub(super) struct World {
    pub(super) now: u64,
    pub(super) rng: Rng,
    pub(super) judge: Judge,
    pub(super) trace: Trace,
    pub(super) variant: Variant,
    pub(super) leaf: Side,
    pub(super) hub: Side,
    pub(super) lives: u64,
    pub(super) lines: BTreeMap<u64, Line>,
    pub(super) next_line: u64,
    /// Until when the hub doesn't take calls.
    pub(super) away_until: u64,
    events: BTreeMap<(u64, u64), Event>,
    next_event: u64,
    attached: u64,
    pub(super) broken: Option<String>,
}

#[derive(Debug)]
pub(super) enum Event {
    /// A client does something.
    Act,
    /// Something goes wrong.
    Fault,
    /// The next chunk of a line arrives at an end.
    Arrive(u64, End),
    /// A dial is answered.
    Dialed(LinkId, u64),
    /// A client answers a request.
    Answer(End, Conn, String),
}

impl World {
    pub(super) fn new(seed: u64, variant: Variant) -> Self {
        let mut rng = Rng::seeded(seed);
        let now = Now::default();
        let leaf = Side::start(End::Leaf, 1, now, &mut rng, variant);
        let hub = Side::start(End::Hub, 2, now, &mut rng, variant);
        Self {
            now: 0,
            judge: Judge::default(),
            trace: Trace::new(),
            variant,
            leaf,
            hub,
            lives: 2,
            lines: BTreeMap::new(),
            next_line: 0,
            away_until: rng.below(5 * SECOND),
            events: BTreeMap::new(),
            next_event: 0,
            attached: 0,
            broken: None,
            rng,
        }
    }

    pub(super) fn run(mut self) -> Report {
        for end in End::BOTH {
            for _ in 0..3 {
                self.join(end);
            }
        }
        self.plan(0, Event::Act);
        self.plan(0, Event::Fault);
        self.run_until(TROUBLE_ENDS);
        self.events
            .retain(|_, event| !matches!(event, Event::Act | Event::Fault));
        self.away_until = 0;
        for line in self.lines.values_mut() {
            for end in End::BOTH {
                line.pipe(end).cut_after = None;
            }
        }
        self.trace.note(format_args!("the faults end"));
        self.check_healed();
        Report {
            hash: self.trace.hash(),
            received: self.judge.received,
            crossed: self.judge.crossed,
            attached: self.attached,
            tail: match self.broken {
                Some(_) => self.trace.tail(),
                None => Vec::new(),
            },
            verdict: self.broken.map_or(Ok(()), Err),
        }
    }

    pub(super) const fn clock(&self) -> Now {
        Now {
            mono: Instant::from_nanos(self.now),
            wall: Timestamp::from_nanos(self.now as i64),
        }
    }

    pub(super) const fn side(&mut self, end: End) -> &mut Side {
        match end {
            End::Leaf => &mut self.leaf,
            End::Hub => &mut self.hub,
        }
    }

    /// Lets everything happen that happens before `until`.
    pub(super) fn run_until(&mut self, until: u64) {
        while self.broken.is_none() {
            let event = self.events.first_key_value().map(|((at, _), _)| *at);
            let wake = End::BOTH
                .into_iter()
                .filter_map(|end| Some((self.side(end).broker.deadline()?.as_nanos(), end)))
                .min();
            match (event, wake) {
                (Some(at), wake) if at <= until && wake.is_none_or(|(due, _)| at <= due) => {
                    self.now = self.now.max(at);
                    if let Some((_, event)) = self.events.pop_first() {
                        self.happen(event);
                    }
                }
                (_, Some((due, end))) if due <= until => {
                    self.now = self.now.max(due);
                    let now = self.clock();
                    self.side(end).broker.on_time(now);
                    self.drain(end);
                }
                (Some(_) | None, Some(_) | None) => break,
            }
        }
        self.now = self.now.max(until);
    }

    /// Whether the leaf is attached by a line that works; a silent one has yet to be noticed.
    pub(super) fn is_attached(&self) -> bool {
        let Some(conn) = self.leaf.attached() else {
            return false;
        };
        let line = self.lines.values().find(|line| line.leaf == conn);
        line.is_some_and(|line| {
            self.hub.attached() == Some(line.hub)
                && !End::BOTH.iter().any(|end| line.is_silent(*end))
        })
    }

    /// Whether bytes or dials are under way.
    pub(super) fn is_busy(&self) -> bool {
        !self.events.is_empty()
    }

    fn plan(&mut self, after: u64, event: Event) {
        self.next_event += 1;
        self.events
            .insert((self.now + after, self.next_event), event);
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Act => {
                self.act();
                let pause = self.rng.below(400 * MILLI);
                self.plan(pause, Event::Act);
            }
            Event::Fault => {
                if self.now > SECOND {
                    self.fault();
                }
                let pause = SECOND + self.rng.below(12 * SECOND);
                self.plan(pause, Event::Fault);
            }
            Event::Arrive(line, end) => self.arrive(line, end),
            Event::Dialed(link, at) => self.dialed(link, at),
            Event::Answer(end, conn, reply) => self.publish(end, conn, &reply, None),
        }
    }

    /// Carries out what a server wishes.
    pub(super) fn drain(&mut self, end: End) {
        while let Some(output) = self.side(end).broker.poll() {
            match output {
                Output::Flush(conn) => self.flush(end, conn),
                Output::Close { conn, cause } => self.close(end, conn, &cause),
                Output::Dial { link, .. } => {
                    let pause = self.rng.below(100 * MILLI);
                    let life = self.lives;
                    self.plan(pause, Event::Dialed(link, life));
                }
                Output::Log { text, .. } => {
                    self.trace
                        .note(format_args!("{} {end:?} log {text}", self.now));
                    if text.contains("attached account") {
                        self.attached += 1;
                    }
                }
                Output::Internal { .. }
                | Output::Secure { .. }
                | Output::Pack(_)
                | Output::Traced(_)
                | Output::Ask { .. }
                | Output::InterestChanged { .. }
                | Output::Connected(_)
                | Output::Disconnected(_)
                | Output::LinkConnected(_)
                | Output::LinkDisconnected(_)
                | Output::Rejected(_)
                | Output::LookUp(_)
                | Output::Population(_) => {}
            }
        }
    }

    fn flush(&mut self, end: End, conn: Conn) {
        let bytes = self.side(end).take_outbox(conn);
        if let Some(line) = self.line_of(end, conn) {
            if let Err(why) = self.judge.watch_line(end.other(), &bytes) {
                return self.break_with(why);
            }
            self.send(line, end.other(), Chunk::Bytes(bytes));
            return;
        }
        let client = self
            .side(end)
            .clients
            .iter_mut()
            .find(|client| client.conn == conn);
        let Some(client) = client else {
            return;
        };
        match client.read(&bytes) {
            Ok(received) => {
                for got in received {
                    self.receive(end, conn, &got);
                }
            }
            Err(why) => self.break_with(why),
        }
    }

    fn receive(&mut self, end: End, conn: Conn, got: &Received) {
        self.trace
            .note(format_args!("{} {end:?} {conn:?} got {got:?}", self.now));
        let client = self
            .side(end)
            .clients
            .iter()
            .find(|client| client.conn == conn);
        let sub = client.and_then(|client| client.subs.get(&got.sid)).cloned();
        // What was under way when the client unsubscribed may still arrive.
        let Some(sub) = sub else {
            return;
        };
        if let Err(why) = self.judge.receive(end, conn, &sub, got) {
            return self.break_with(why);
        }
        if let Some(reply) = &got.reply
            && sub.filter.starts_with("svc.")
        {
            self.plan(MILLI, Event::Answer(end, conn, reply.clone()));
        }
    }

    pub(super) fn break_with(&mut self, why: String) {
        self.trace.note(format_args!("{} BROKEN {why}", self.now));
        self.broken.get_or_insert(why);
    }

    fn line_of(&self, end: End, conn: Conn) -> Option<u64> {
        let found = self.lines.iter().find(|(_, line)| line.conn(end) == conn);
        found.map(|(id, _)| *id)
    }

    pub(super) fn send(&mut self, line: u64, to: End, chunk: Chunk) {
        let at = self
            .lines
            .get_mut(&line)
            .and_then(|known| known.pipe(to).push(self.now, LATE, chunk, &mut self.rng));
        if let Some(at) = at {
            self.plan(at - self.now, Event::Arrive(line, to));
        }
    }

    fn arrive(&mut self, line: u64, end: End) {
        let Some(known) = self.lines.get_mut(&line) else {
            return;
        };
        let conn = known.conn(end);
        let Some((chunk, breaks)) = known.pipe(end).pop() else {
            return;
        };
        let now = self.clock();
        match chunk {
            Chunk::Bytes(bytes) => {
                let what = format_args!("{} {end:?} line {line}", self.now);
                self.trace.note_bytes(what, &bytes);
                let side = match end {
                    End::Leaf => &mut self.leaf,
                    End::Hub => &mut self.hub,
                };
                side.link_bytes(now, conn, &bytes, &mut self.rng);
                self.drain(end);
            }
            Chunk::End => self.hang_up(line, end),
        }
        if breaks {
            self.trace
                .note(format_args!("{} line {line} is cut", self.now));
            for end in End::BOTH {
                self.hang_up(line, end);
            }
            self.lines.remove(&line);
        }
    }

    /// One end learns that the line is gone.
    fn hang_up(&mut self, line: u64, end: End) {
        let Some(conn) = self.lines.get(&line).map(|line| line.conn(end)) else {
            return;
        };
        let now = self.clock();
        let side = self.side(end);
        side.broker.closed(now, conn, "Client Closed");
        side.forget(conn);
        self.drain(end);
    }

    /// A server closes a connection.
    fn close(&mut self, end: End, conn: Conn, cause: &str) {
        self.trace.note(format_args!(
            "{} {end:?} closes {conn:?}: {cause}",
            self.now
        ));
        let line = self.line_of(end, conn);
        if line.is_some() {
            self.flush(end, conn);
        }
        let now = self.clock();
        let side = self.side(end);
        side.broker.closed(now, conn, cause);
        side.forget(conn);
        match line {
            Some(line) => self.send(line, end.other(), Chunk::End),
            None => self.break_with(format!("a client of {end:?} was closed: {cause}")),
        }
    }

    fn dialed(&mut self, link: LinkId, life: u64) {
        let now = self.clock();
        if life != self.lives && !self.leaf.broker.link_statuses().any(|(id, ..)| id == link) {
            return;
        }
        if self.now < self.away_until {
            self.leaf
                .broker
                .dial_failed(now, link, "connection refused");
            return self.drain(End::Leaf);
        }
        let (leaf, hub) = (self.leaf.new_conn(), self.hub.new_conn());
        self.next_line += 1;
        self.lines.insert(self.next_line, Line::new(leaf, hub));
        self.trace
            .note(format_args!("{} line {} is up", self.now, self.next_line));
        self.leaf.broker.opened(now, leaf, link, arrival());
        self.drain(End::Leaf);
        self.hub.accept(now, hub);
        self.drain(End::Hub);
    }
}

/// The longest way of a chunk.
const LATE: u64 = 400 * MILLI;

/// Then everything must heal.
const TROUBLE_ENDS: u64 = 40 * SECOND;
