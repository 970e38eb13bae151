use std::collections::BTreeMap;

use frond_broker::{Conn, LinkId};
use frond_clock::{Instant, Now, Rng, Timestamp};

use super::Report;
use super::broken::Variant;
use super::judge::Judge;
use super::lines::Lines;
use super::node::Node;
use super::shape::{Shape, pick};
use crate::link_world::line::{MILLI, SECOND};
use crate::link_world::trace::Trace;

/// Everything there is, and the time.
#[derive(Debug)]
pub(super) struct World {
    pub(super) now: u64,
    pub(super) rng: Rng,
    pub(super) shape: Shape,
    pub(super) nodes: Vec<Node>,
    /// Starts of servers so far.
    pub(super) lives: u64,
    pub(super) lines: Lines,
    /// The longest way of a chunk.
    pub(super) late: u64,
    pub(super) judge: Judge,
    /// Answers so far, and where each is wanted.
    pub(super) answers: Vec<(u64, String)>,
    pub(super) variant: Variant,
    pub(super) trace: Trace,
    pub(super) broken: Option<String>,
    events: BTreeMap<(u64, u64), Event>,
    next_event: u64,
}

#[derive(Debug)]
pub(super) enum Event {
    /// A client does something.
    Act,
    /// Something goes wrong.
    Fault,
    /// The next chunk of a line arrives at an end of it.
    Arrive(u64, usize),
    /// A dial gets there.
    Dialed(Dial),
    /// Nobody answered it.
    TimedOut(Dial),
    /// A client answers.
    Answer(Answer),
    /// A server that asked its clients to leave goes, if it is still the same.
    Leave { node: usize, life: u64 },
}

/// What a client is about to answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) node: usize,
    pub(super) life: u64,
    pub(super) conn: Conn,
    pub(super) reply: String,
}

/// A dial of one start of a server.
#[derive(Debug)]
pub(super) struct Dial {
    pub(super) node: usize,
    pub(super) life: u64,
    pub(super) link: LinkId,
    pub(super) to: Option<usize>,
    pub(super) port: u16,
}

impl World {
    pub(super) fn new(seed: u64, variant: Variant) -> Self {
        let mut rng = Rng::seeded(seed);
        let shape = Shape::random(&mut rng);
        let mut world = Self {
            now: 0,
            shape,
            nodes: Vec::new(),
            lives: 0,
            lines: Lines::default(),
            late: 400 * MILLI,
            judge: Judge::default(),
            answers: Vec::new(),
            variant,
            trace: Trace::new(),
            broken: None,
            events: BTreeMap::new(),
            next_event: 0,
            rng,
        };
        world.trace.note(format_args!("{:?}", world.shape));
        for (number, place) in world.shape.nodes.iter().enumerate() {
            world.lives += 1;
            let with = (Now::default(), &mut world.rng);
            match Node::start(number, world.lives, place, variant, with) {
                Ok(node) => world.nodes.push(node),
                Err(why) => world.broken = Some(why),
            }
        }
        world
    }

    pub(super) fn run(mut self) -> Report {
        if self.broken.is_none() {
            self.live();
        }
        Report {
            hash: self.trace.hash(),
            published: self.judge.published(),
            received: self.judge.received,
            crossed: self.judge.crossed,
            lines: self.lines.made,
            tail: match self.broken {
                Some(_) => self.trace.tail(),
                None => Vec::new(),
            },
            verdict: self.broken.map_or(Ok(()), Err),
        }
    }

    fn live(&mut self) {
        for node in 0..self.nodes.len() {
            for _ in 0..2 {
                self.join(node, None, false);
            }
            if pick(&mut self.rng, 3) == 0 {
                self.nodes[node].away_until = self.rng.below(5 * SECOND);
            }
        }
        self.plan(0, Event::Act);
        self.plan(SECOND, Event::Fault);
        self.run_until(TROUBLE_ENDS);
        if self.broken.is_some() {
            return;
        }
        let mut leaving = Vec::new();
        self.events.retain(|_, event| match event {
            Event::Leave { node, life } => {
                leaving.push((*node, *life));
                false
            }
            Event::Act | Event::Fault => false,
            Event::Arrive(..) | Event::Dialed(_) | Event::TimedOut(_) | Event::Answer(_) => true,
        });
        for (node, life) in leaving {
            if self.nodes[node].life == life {
                self.restart(node);
            }
        }
        for node in &mut self.nodes {
            node.away_until = 0;
        }
        self.lines.mend();
        for node in 0..self.nodes.len() {
            self.regulate(node, false);
        }
        self.late = 20 * MILLI;
        self.trace.note(format_args!("the faults end"));
        self.check_calm();
    }

    pub(super) const fn clock(&self) -> Now {
        Now {
            mono: Instant::from_nanos(self.now),
            wall: Timestamp::from_nanos(self.now as i64),
        }
    }

    /// Lets everything happen that happens before `until`.
    pub(super) fn run_until(&mut self, until: u64) {
        while self.broken.is_none() {
            let event = self.events.first_key_value().map(|((at, _), _)| *at);
            let wake = self
                .nodes
                .iter()
                .filter_map(|node| Some((node.broker.deadline()?.as_nanos(), node.number)))
                .min();
            match (event, wake) {
                (Some(at), wake) if at <= until && wake.is_none_or(|(due, _)| at <= due) => {
                    self.now = self.now.max(at);
                    if let Some((_, event)) = self.events.pop_first() {
                        self.happen(event);
                    }
                }
                (_, Some((due, node))) if due <= until => {
                    self.now = self.now.max(due);
                    let now = self.clock();
                    self.nodes[node].broker.on_time(now);
                    self.drain(node);
                }
                (Some(_) | None, Some(_) | None) => break,
            }
        }
        self.now = self.now.max(until);
    }

    pub(super) fn plan(&mut self, after: u64, event: Event) {
        self.next_event += 1;
        self.events
            .insert((self.now + after, self.next_event), event);
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Act => {
                self.act();
                self.check_redials();
                let pause = self.rng.below(300 * MILLI);
                self.plan(pause, Event::Act);
            }
            Event::Fault => {
                self.fault();
                let pause = SECOND + self.rng.below(8 * SECOND);
                self.plan(pause, Event::Fault);
            }
            Event::Arrive(line, side) => self.arrive(line, side),
            Event::Dialed(dial) => self.dialed(dial),
            Event::TimedOut(dial) => self.dial_failed(&dial, "i/o timeout"),
            Event::Answer(answer) => self.answer(&answer),
            Event::Leave { node, life } if self.nodes[node].life == life => self.restart(node),
            Event::Leave { .. } => {}
        }
    }

    pub(super) fn is_faulty(&self) -> bool {
        self.now < TROUBLE_ENDS
    }

    pub(super) fn break_with(&mut self, why: String) {
        self.trace.note(format_args!("{} BROKEN {why}", self.now));
        self.broken.get_or_insert(why);
    }

    /// The place of a client among those of its server.
    pub(super) fn place_of(&self, node: usize, conn: Conn) -> Option<usize> {
        let mut clients = self.nodes[node].clients.iter();
        clients.position(|member| member.client.conn == conn)
    }
}

/// Then everything must heal.
const TROUBLE_ENDS: u64 = 40 * SECOND;
