use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use frond_account::nkey::KeyPair;
use frond_clock::{Now, Timestamp};
use frond_fleet::{
    Bucket, Fleet, Input, Output, QUEUE, Question, Refused, Said, Service, Step, Unwritten,
};
use frond_runtime::Caller;
use frond_runtime::steward::Letter;

use super::{Places, bucket, now_s};

mod confirming;
mod kept;
mod lines;
mod registry;

use kept::Kept;
use lines::Lines;
use registry::Follower;

/// Drives a fleet over a connection to any NATS server, and answers for it as a service.
#[derive(Debug)]
pub(crate) struct Host {
    caller: Caller,
    places: Places,
    /// Whether it only knows the boxes.
    is_looker: bool,
    fleet: Fleet,
    service: Service,
    follower: Follower,
    kept: Kept,
    /// By which it signs that boxes on trial reached it.
    confirm_key: Option<KeyPair>,
    lines: Option<Lines>,
    /// Tickets by the numbers of the inboxes their answers come to; when they were put.
    puts: BTreeMap<u64, (u64, Instant)>,
    /// Who waits for an answer: where to, at which endpoint, and since when.
    asking: BTreeMap<u64, (String, &'static str, Instant)>,
    answers: VecDeque<Result<String, Refused>>,
    next: u64,
    began: Instant,
    steps: VecDeque<Step>,
}

/// Asked by whoever drives it, not by a message.
const OURSELVES: u64 = 0;
/// After so long a put has failed.
const PUT_TIME: Duration = Duration::from_secs(10);
/// Boxes say something all the time; what was there before comes at once.
const CATCH_UP_TIME: Duration = Duration::from_secs(60);

impl Host {
    /// Makes what is not there yet, and goes on with a rollout that was left.
    pub(crate) fn begin(mut caller: Caller, places: &Places) -> Result<Self, String> {
        places.make(&mut caller)?;
        let (kept, before) = Kept::load(&mut caller, &places.rollouts)?;
        let mut host = Self::looker(caller, places)?;
        host.is_looker = false;
        host.kept = kept;
        let key = places.confirm_key.as_deref();
        host.confirm_key = key.map(super::keys::pair).transpose()?;
        for subject in host.service.heard_by_all() {
            host.caller.subscribe(&subject)?;
        }
        for subject in Service::endpoints() {
            host.caller.subscribe_among(&subject, QUEUE)?;
        }
        if let Some((rollout, bundle)) = before {
            host.take(Input::Kept { rollout, bundle })?;
        }
        Ok(host)
    }

    /// Knows the boxes, and nothing else.
    pub(super) fn looker(mut caller: Caller, places: &Places) -> Result<Self, String> {
        let id = caller.inbox().replace(['.', '_'], "");
        let started = Timestamp::from_nanos(now_s() * 1_000_000_000).to_string();
        let service = Service::new(&id, &started);
        let follower = Follower::begin(&mut caller, &places.registry)?;
        Ok(Self {
            is_looker: true,
            fleet: Fleet::new(places.silent_s),
            places: places.clone(),
            caller,
            service,
            follower,
            kept: Kept::default(),
            confirm_key: None,
            lines: None,
            puts: BTreeMap::new(),
            asking: BTreeMap::new(),
            answers: VecDeque::new(),
            next: OURSELVES + 1,
            began: Instant::now(),
            steps: VecDeque::new(),
        })
    }

    /// Until all boxes that ever said something are known.
    pub(crate) fn catch_up(&mut self) -> Result<(), String> {
        let until = Instant::now() + CATCH_UP_TIME;
        while !self.fleet.is_caught_up() {
            if Instant::now() >= until {
                return Err("the registry does not end".to_owned());
            }
            self.turn(until)?;
        }
        Ok(())
    }

    /// Takes what comes until then, or until something was done.
    pub(crate) fn turn(&mut self, until: Instant) -> Result<(), String> {
        if self.follower.is_empty() && !self.fleet.is_caught_up() {
            return self.take(Input::CaughtUp);
        }
        let wake = self.fleet.deadline().map(|at| {
            let since = Duration::from_nanos(at.as_nanos());
            self.began + since
        });
        let alive = self.follower.deadline();
        let until = wake.map_or(until, |wake| wake.min(until)).min(alive);
        match self.caller.letter(until)? {
            Some(letter) => self.read(&letter)?,
            None => self.take(Input::Time)?,
        }
        // What came meanwhile is taken in one go: a thousand boxes say something every ten seconds.
        while let Some(letter) = self.caller.letter(Instant::now())? {
            self.read(&letter)?;
        }
        self.look_at_lines()?;
        self.give_up_puts()?;
        self.follower.keep(&mut self.caller)
    }

    /// Asks for something, as a message would.
    pub(super) fn ask(&mut self, question: Question) -> Result<String, String> {
        self.take(Input::Asked(OURSELVES, question))?;
        // What changes something is answered when it is written down.
        let until = Instant::now() + PUT_TIME;
        while self.answers.is_empty() && Instant::now() < until {
            self.turn(until)?;
        }
        let answer = self.answers.pop_front();
        let answer = answer.ok_or_else(|| "no answer".to_owned())?;
        answer.map_err(|refused| refused.why)
    }

    /// What happened since it was last asked.
    pub(crate) fn steps(&mut self) -> impl Iterator<Item = Step> + '_ {
        self.steps.drain(..)
    }

    pub(crate) const fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    pub(crate) fn now(&self) -> Now {
        let since = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Now {
            mono: frond_clock::Instant::from_nanos(since),
            wall: Timestamp::from_nanos(now_s() * 1_000_000_000),
        }
    }

    /// Until everything that was decided is written down.
    pub(super) fn settle(&mut self) -> Result<(), String> {
        let until = Instant::now() + PUT_TIME;
        while !(self.fleet.is_settled() && self.puts.is_empty()) && Instant::now() < until {
            self.turn(until)?;
        }
        Ok(())
    }

    /// Goes on answering for so long.
    pub(super) fn linger(&mut self, time: Duration) -> Result<(), String> {
        let until = Instant::now() + time;
        while Instant::now() < until {
            self.turn(until)?;
        }
        Ok(())
    }

    fn read(&mut self, letter: &Letter) -> Result<(), String> {
        if let Some(number) = self.answered(&letter.subject) {
            return self.written(number, letter);
        }
        if let Some(inputs) = self.follower.take(letter) {
            for input in inputs {
                self.take(input)?;
            }
            return Ok(());
        }
        let Some(reply) = &letter.reply else {
            return Ok(());
        };
        match self.service.take(&letter.subject, &letter.payload) {
            Said::Nothing => Ok(()),
            Said::Answer(text) => self.caller.publish(reply, None, b"", text.as_bytes()),
            Said::Question(endpoint, question) => {
                let (ask, reply) = (self.next, reply.clone());
                self.next += 1;
                self.asking.insert(ask, (reply, endpoint, Instant::now()));
                match question {
                    Ok(question) => self.take(Input::Asked(ask, question)),
                    Err(refused) => self.answer(ask, Err(refused)),
                }
            }
        }
    }

    fn take(&mut self, input: Input) -> Result<(), String> {
        let now = self.now();
        self.fleet.handle(now, input);
        while let Some(output) = self.fleet.poll() {
            match output {
                Output::Put {
                    bucket: Bucket::Registry,
                    ..
                } if self.is_looker => {}
                Output::Put {
                    ticket,
                    bucket: Bucket::Rollouts,
                    key,
                    value,
                    ..
                } => self.keep(ticket, &key, value.as_deref().unwrap_or_default())?,
                Output::Put {
                    ticket,
                    bucket,
                    key,
                    value,
                    replaces,
                } => {
                    let name = match bucket {
                        Bucket::Configurations => self.places.bucket.clone(),
                        Bucket::Registry => self.places.registry.clone(),
                        Bucket::Rollouts => self.places.rollouts.clone(),
                    };
                    let header = match (&value, replaces) {
                        (Some(_), None) => Vec::new(),
                        (Some(_), Some(sequence)) => bucket::replaces(sequence),
                        (None, None) => bucket::DELETED.to_vec(),
                        (None, Some(sequence)) => bucket::deletes(sequence),
                    };
                    let value = value.as_deref().unwrap_or_default();
                    self.put(ticket, (&name, &key), &header, value)?;
                }
                Output::Answer(ask, answer) => self.answer(ask, answer)?,
                Output::Step(step) => self.step(step)?,
                Output::Confirm(attempt) => self.confirm(attempt)?,
            }
        }
        Ok(())
    }

    fn step(&mut self, step: Step) -> Result<(), String> {
        let said = serde_json::json!({
            "kind": step.kind,
            "version": step.version,
            "text": step.text,
            "is_bad": step.is_bad,
            "time_s": now_s(),
        });
        let subject = Service::event(step.kind);
        self.steps.push_back(step);
        self.caller
            .publish(&subject, None, b"", said.to_string().as_bytes())
    }

    fn answer(&mut self, ask: u64, answer: Result<String, Refused>) -> Result<(), String> {
        let Some((reply, endpoint, since)) = self.asking.remove(&ask) else {
            self.answers.push_back(answer);
            return Ok(());
        };
        let most = self.caller.payload_bytes_max();
        let answer = answer.and_then(|text| match text.len() {
            length if length > most => {
                let why = format!("the answer has {length} bytes, the hub takes {most}");
                Err(Refused { code: 500, why })
            }
            _ => Ok(text),
        });
        let nanos = u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.service.answered(endpoint, nanos, &answer);
        match answer {
            Ok(text) => self.caller.publish(&reply, None, b"", text.as_bytes()),
            Err(refused) => {
                let header = Service::refusal(&refused);
                self.caller.publish(&reply, None, &header, b"")
            }
        }
    }

    fn put(
        &mut self,
        ticket: u64,
        (bucket, key): (&str, &str),
        header: &[u8],
        value: &[u8],
    ) -> Result<(), String> {
        let (length, most) = (header.len() + value.len(), self.caller.payload_bytes_max());
        if length > most {
            let why = format!("{key} has {length} bytes, and it takes {most} in one message");
            return self.put_is_over(ticket, Err(Unwritten::refused(why)));
        }
        let number = self.next;
        self.next += 1;
        self.puts.insert(number, (ticket, Instant::now()));
        let reply = format!("{}.put{number}", self.caller.inbox());
        let subject = format!("$KV.{bucket}.{key}");
        self.caller.publish(&subject, Some(&reply), header, value)
    }

    /// The number of the put that a subject answers.
    fn answered(&self, subject: &str) -> Option<u64> {
        let rest = subject.strip_prefix(self.caller.inbox())?;
        rest.strip_prefix(".put")?.parse().ok()
    }

    fn written(&mut self, number: u64, letter: &Letter) -> Result<(), String> {
        let Some((ticket, _)) = self.puts.remove(&number) else {
            return Ok(());
        };
        let result = bucket::taken(letter).map_err(Unwritten::refused);
        self.put_is_over(ticket, result)
    }

    fn put_is_over(&mut self, ticket: u64, result: Result<u64, Unwritten>) -> Result<(), String> {
        self.next_kept(ticket, &result)?;
        let is_other = |it: &Unwritten| !it.may_be_there && it.why.contains(bucket::WRONG_SEQUENCE);
        let result = match result {
            // What was to be taken away was replaced by somebody.
            Err(unwritten) if is_other(&unwritten) => Ok(0),
            Ok(_) | Err(_) => result,
        };
        self.take(Input::Wrote(ticket, result))
    }

    fn give_up_puts(&mut self) -> Result<(), String> {
        let late: Vec<u64> = self
            .puts
            .iter()
            .filter(|(_, (_, since))| since.elapsed() > PUT_TIME)
            .map(|(number, _)| *number)
            .collect();
        for number in late {
            if let Some((ticket, _)) = self.puts.remove(&number) {
                let unwritten = Unwritten {
                    why: "the hub does not answer".to_owned(),
                    may_be_there: true,
                };
                self.put_is_over(ticket, Err(unwritten))?;
            }
        }
        Ok(())
    }
}
