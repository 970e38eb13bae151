use frond_broker::{Conn, Output};

use super::actions::FORBIDDEN_SID;
use super::judge::{At, Judge};
use super::lines::End;
use super::node::{Member, arrival, number_of};
use super::topics::CLIENTS_MAY_NOT;
use super::world::{Answer, Dial, Event, World};
use crate::link_world::client::Received;
use crate::link_world::line::{Chunk, MILLI};

/// What servers wish, and what comes of it.
impl World {
    /// Carries out what a server wishes.
    pub(super) fn drain(&mut self, node: usize) {
        while let Some(output) = self.nodes[node].broker.poll() {
            match output {
                Output::Flush(conn) => self.flush(node, conn),
                Output::Close { conn, cause } => self.close(node, conn, &cause),
                Output::Dial {
                    link,
                    host,
                    port,
                    timeout,
                    ..
                } => {
                    let dial = Dial {
                        node,
                        life: self.nodes[node].life,
                        link,
                        to: number_of(&host),
                        port,
                    };
                    let apart = dial
                        .to
                        .filter(|to| self.lines.are_apart(node, *to, self.now));
                    let event = match apart {
                        Some(_) => (timeout.as_nanos() as u64, Event::TimedOut(dial)),
                        None => (self.rng.below(100 * MILLI), Event::Dialed(dial)),
                    };
                    self.plan(event.0, event.1);
                }
                Output::Log { text, .. } => {
                    self.trace
                        .note(format_args!("{} node {node} log {text}", self.now));
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

    fn flush(&mut self, node: usize, conn: Conn) {
        let bytes = self.nodes[node].take_outbox(conn);
        if let Some((line, side)) = self.lines.find(node, conn) {
            let other = self.lines.get(line).map(|line| line.ends[1 - side].life);
            let watched = Judge::watch_line(other.unwrap_or(0), &bytes, self.is_faulty());
            if let Err(why) = watched {
                return self.break_with(format!("node {node}: {why}"));
            }
            if self.is_faulty() {
                self.judge.note_passed(node, &bytes);
            }
            return self.send(line, 1 - side, Chunk::Bytes(bytes));
        }
        let Some(which) = self.place_of(node, conn) else {
            return;
        };
        match self.nodes[node].clients[which].client.read(&bytes) {
            Ok(received) => {
                for got in received {
                    self.receive(node, conn, &got);
                }
            }
            Err(why) => self.break_with(why),
        }
    }

    fn receive(&mut self, node: usize, conn: Conn, got: &Received) {
        self.trace.note(format_args!(
            "{} node {node} {conn:?} got {got:?}",
            self.now
        ));
        let Some(which) = self.place_of(node, conn) else {
            return;
        };
        let member = &self.nodes[node].clients[which];
        if let Some(why) = self.forbidden(node, member, got) {
            return self.break_with(why);
        }
        // What was under way when the client unsubscribed may still arrive.
        let Some(sub) = member.client.subs.get(&got.sid) else {
            return;
        };
        let at = At {
            node,
            conn,
            account: member.account,
            sub,
        };
        let answers = sub.queue.is_some() || got.sid % 2 == 1;
        if let Err(why) = self.judge.receive(at, got) {
            return self.break_with(why);
        }
        if let Some(reply) = got.reply.clone().filter(|_| answers) {
            let (life, pause) = (self.nodes[node].life, self.rng.below(50 * MILLI));
            let answer = Answer {
                node,
                life,
                conn,
                reply,
            };
            self.plan(pause, Event::Answer(answer));
        }
    }

    /// What somebody got who may not.
    fn forbidden(&self, node: usize, member: &Member, got: &Received) -> Option<String> {
        let may_not = member.client.is_limited && got.subject.starts_with(CLIENTS_MAY_NOT);
        if may_not || got.sid == FORBIDDEN_SID {
            return Some(format!("{got:?} is not for a limited client"));
        }
        let (from, subject) = self.judge.origin(&got.payload)?;
        let reaches = self.shape.reaches(member.account, subject, from, node);
        (!reaches).then(|| format!("{got:?} came from node {from} to node {node}"))
    }

    /// A client answers what it got, if it is still there.
    pub(super) fn answer(&mut self, answer: &Answer) {
        let Answer { node, life, .. } = *answer;
        if self.nodes[node].life != life {
            return;
        }
        if let Some(which) = self.place_of(node, answer.conn) {
            let id = self.publish(node, which, &answer.reply, false);
            self.answers.push((id, answer.reply.clone()));
        }
    }

    pub(super) fn send(&mut self, line: u64, side: usize, chunk: Chunk) {
        let at = self
            .lines
            .get(line)
            .and_then(|known| known.pipes[side].push(self.now, self.late, chunk, &mut self.rng));
        if let Some(at) = at {
            self.plan(at - self.now, Event::Arrive(line, side));
        }
    }

    pub(super) fn arrive(&mut self, line: u64, side: usize) {
        let Some(known) = self.lines.get(line) else {
            return;
        };
        let End { node, life, conn } = known.ends[side];
        let Some((chunk, breaks)) = known.pipes[side].pop() else {
            return;
        };
        let now = self.clock();
        if self.nodes[node].life == life {
            match chunk {
                Chunk::Bytes(bytes) => {
                    let what = format_args!("{} node {node} line {line}", self.now);
                    self.trace.note_bytes(what, &bytes);
                    self.nodes[node].link_bytes(now, conn, &bytes, &mut self.rng);
                    self.drain(node);
                }
                Chunk::End => {
                    self.hang_up(line, side);
                    return self.lines.remove(line);
                }
            }
        }
        if breaks {
            self.trace
                .note(format_args!("{} line {line} is cut", self.now));
            for side in 0..2 {
                self.hang_up(line, side);
            }
            self.lines.remove(line);
        }
    }

    /// One end learns that the line is gone.
    fn hang_up(&mut self, line: u64, side: usize) {
        let Some(End { node, life, conn }) = self.lines.get(line).map(|line| line.ends[side])
        else {
            return;
        };
        if self.nodes[node].life != life {
            return;
        }
        let now = self.clock();
        self.nodes[node].broker.closed(now, conn, "Client Closed");
        self.nodes[node].forget(conn);
        self.drain(node);
    }

    /// A server closes a connection.
    fn close(&mut self, node: usize, conn: Conn, cause: &str) {
        self.trace.note(format_args!(
            "{} node {node} closes {conn:?}: {cause}",
            self.now
        ));
        let line = self.lines.find(node, conn);
        if line.is_some() {
            self.flush(node, conn);
        }
        let now = self.clock();
        self.nodes[node].broker.closed(now, conn, cause);
        self.nodes[node].forget(conn);
        match line {
            Some((line, side)) => self.send(line, 1 - side, Chunk::End),
            None => self.break_with(format!("a client of node {node} was closed: {cause}")),
        }
    }

    pub(super) fn dial_failed(&mut self, dial: &Dial, why: &str) {
        let now = self.clock();
        if self.nodes[dial.node].life == dial.life {
            self.nodes[dial.node]
                .broker
                .dial_failed(now, dial.link, why);
            self.drain(dial.node);
        }
    }

    pub(super) fn dialed(&mut self, dial: Dial) {
        if self.nodes[dial.node].life != dial.life {
            return;
        }
        let there = dial.to.and_then(|to| Some((to, self.nodes.get(to)?)));
        let Some((to, _)) = there.filter(|(_, there)| self.now >= there.away_until) else {
            return self.dial_failed(&dial, "connection refused");
        };
        let ends = [dial.node, to].map(|node| End {
            node,
            life: self.nodes[node].life,
            conn: self.nodes[node].new_conn(),
        });
        let line = self.lines.add(ends);
        if self.now < self.lines.frail_until {
            let (side, after) = (self.rng.below(2) as usize, self.rng.below(900) as usize);
            if let Some(line) = self.lines.get(line) {
                line.pipes[side].cut_after = Some(after);
            }
        }
        self.trace.note(format_args!(
            "{} line {line} is up: {} to {to} port {}",
            self.now, dial.node, dial.port
        ));
        let now = self.clock();
        let [here, there] = ends.map(|end| end.conn);
        self.nodes[dial.node]
            .broker
            .opened(now, here, dial.link, arrival(to));
        self.drain(dial.node);
        self.nodes[to].accept(now, there, dial.port, dial.node);
        self.drain(to);
    }
}
