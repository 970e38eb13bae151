use std::time::Duration;

use frond_clock::Instant;
use frond_config::{LinkLoss, Output as Options};

/// A digital output: what it was told, and what is known of it.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) name: String,
    pub(crate) subject: String,
    safe: bool,
    max_on: Option<Duration>,
    on_link_loss: LinkLoss,
    wanted: bool,
    why: &'static str,
    /// When it goes back by itself.
    until: Option<Instant>,
    known: Known,
    /// What it is being switched to.
    under_way: Option<bool>,
    /// Who wants to know how it went.
    askers: Vec<String>,
    /// When its safe state, which it could not be switched to, is tried again; how often it was.
    again: Option<Instant>,
    tries: u32,
}

/// What is known of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Nothing,
    /// It was switched to that.
    Is(bool),
    /// It could not be switched to that: how it is now nobody knows. Its safe state is tried again
    /// and again, another one not until somebody wants something.
    Not(bool),
}

/// Between two attempts to bring it to its safe state, at first and at most.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
const AGAIN_AFTER_MAX: Duration = Duration::from_secs(30);
/// Requests that wait for one switch.
const ASKERS_MAX: usize = 16;

/// A command that was understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// How is it?
    Tell,
    Set {
        on: bool,
        lasts: Option<Duration>,
    },
}

/// How a switch went, for those who asked.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) askers: Vec<String>,
    pub(crate) fault: Option<String>,
    /// It is new that it is so, and why.
    pub(crate) changed: Option<&'static str>,
}

impl Output {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            name: options.name.clone(),
            subject: options.subject.clone(),
            safe: options.safe,
            max_on: options.max_on,
            on_link_loss: options.on_link_loss,
            wanted: options.safe,
            why: "start",
            until: None,
            known: Known::Nothing,
            under_way: None,
            askers: Vec::new(),
            again: None,
            tries: 0,
        }
    }

    /// The state that is to be switched to now.
    pub(crate) fn switch(&mut self) -> Option<bool> {
        let was_tried = [Known::Is(self.wanted), Known::Not(self.wanted)].contains(&self.known);
        if self.under_way.is_some() || was_tried {
            return None;
        }
        self.under_way = Some(self.wanted);
        self.under_way
    }

    /// It was switched, or not.
    pub(crate) fn switched(&mut self, fault: Option<&str>) -> Outcome {
        let done = self.under_way.take();
        let changed = done != self.shown() && fault.is_none();
        let known = |on| match fault {
            None => Known::Is(on),
            Some(_) => Known::Not(on),
        };
        self.known = done.map_or(self.known, known);
        if fault.is_none() {
            (self.again, self.tries) = (None, 0);
        }
        Outcome {
            // Those who want something newer wait for that.
            askers: if fault.is_some() || done == Some(self.wanted) {
                std::mem::take(&mut self.askers)
            } else {
                Vec::new()
            },
            fault: fault.map(str::to_owned),
            changed: changed.then_some(self.why),
        }
    }

    /// A command came; whether its asker hears when it was switched, or now.
    pub(crate) fn command(&mut self, now: Instant, command: Command, asker: Option<&str>) -> Heed {
        let Command::Set { on, lasts } = command else {
            return Heed::AnswerNow;
        };
        self.want(on, "command");
        self.until = (on != self.safe)
            .then(|| lasts.into_iter().chain(self.max_on).min())
            .flatten()
            .map(|lasts| now + lasts);
        if self.known == Known::Is(on) && self.under_way.is_none() {
            return Heed::AnswerNow;
        }
        match asker {
            Some(asker) if self.askers.len() < ASKERS_MAX => {
                self.askers.push(asker.to_owned());
                Heed::AnswerLater
            }
            Some(_) => Heed::Busy,
            None => Heed::AnswerLater,
        }
    }

    pub(crate) fn time(&mut self, now: Instant) {
        if self.until.is_some_and(|until| now >= until) {
            self.go_safe("max_on");
        }
        self.try_again(now);
    }

    /// What could not be made safe must not stay so because it failed once.
    fn try_again(&mut self, now: Instant) {
        let is_unsafe = self.known == Known::Not(self.safe) && self.wanted == self.safe;
        if !is_unsafe || self.under_way.is_some() {
            self.again = None;
            return;
        }
        let pause = (AGAIN_AFTER * 2_u32.pow(self.tries.min(5))).min(AGAIN_AFTER_MAX);
        let again = *self.again.get_or_insert(now + pause);
        if now >= again {
            self.again = None;
            self.tries += 1;
            self.known = Known::Nothing;
        }
    }

    /// Nobody can command it any more.
    pub(crate) fn link_lost(&mut self) {
        if self.on_link_loss == LinkLoss::Safe {
            self.go_safe("link loss");
        }
    }

    pub(crate) fn go_safe(&mut self, why: &'static str) {
        self.until = None;
        if self.wanted != self.safe || self.known == Known::Not(self.safe) {
            self.want(self.safe, why);
        }
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.until.into_iter().chain(self.again).min()
    }

    /// `None`: nobody knows.
    pub(crate) fn shown(&self) -> Option<bool> {
        match self.known {
            Known::Is(on) => Some(on),
            Known::Nothing | Known::Not(_) => None,
        }
    }

    /// For how long it stays as it is.
    pub(crate) fn left(&self, now: Instant) -> Option<Duration> {
        self.until.map(|until| until.since(now))
    }

    fn want(&mut self, on: bool, why: &'static str) {
        self.wanted = on;
        self.why = why;
        if self.known == Known::Not(on) {
            self.known = Known::Nothing;
        }
    }
}

/// When the asker of a command hears of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heed {
    AnswerNow,
    AnswerLater,
    /// Too many ask at once.
    Busy,
}

impl Command {
    /// `on`, `off`, `true`, `1`...; nothing asks; `{"state": "on", "for": 5}` for so many seconds.
    ///
    /// # Errors
    /// What would be understood.
    pub(crate) fn parse(payload: &[u8]) -> Result<Self, &'static str> {
        const KNOWN: &str =
            "write on or off, or {\"state\": \"on\", \"for\": SECONDS}, or nothing to ask";
        let text = std::str::from_utf8(payload).map_err(|_| KNOWN)?.trim();
        if text.is_empty() {
            return Ok(Self::Tell);
        }
        if let Some(on) = state(text) {
            return Ok(Self::Set { on, lasts: None });
        }
        let json: serde_json::Value = serde_json::from_str(text).map_err(|_| KNOWN)?;
        let map = json.as_object().ok_or(KNOWN)?;
        if map.keys().any(|key| key != "state" && key != "for") {
            return Err(KNOWN);
        }
        let on = match map.get("state").ok_or(KNOWN)? {
            serde_json::Value::Bool(on) => *on,
            serde_json::Value::String(text) => state(text).ok_or(KNOWN)?,
            serde_json::Value::Null
            | serde_json::Value::Number(_)
            | serde_json::Value::Array(_)
            | serde_json::Value::Object(_) => return Err(KNOWN),
        };
        let lasts = match map.get("for") {
            None => None,
            Some(seconds) => {
                let seconds = seconds.as_f64().filter(|s| *s > 0.0).ok_or(KNOWN)?;
                Some(Duration::try_from_secs_f64(seconds).map_err(|_| KNOWN)?)
            }
        };
        Ok(Self::Set { on, lasts })
    }
}

fn state(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "true" | "1" => Some(true),
        "off" | "false" | "0" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(max_on: Option<u64>, on_link_loss: LinkLoss) -> Output {
        let mut output = Output::new(&Options {
            name: "relay".to_owned(),
            line: "GPIO1".to_owned(),
            active_low: false,
            subject: "cmd.relay".to_owned(),
            safe: false,
            max_on: max_on.map(Duration::from_secs),
            on_link_loss,
        });
        assert_eq!(output.switch(), Some(false), "it begins safe");
        assert_eq!(output.switched(None).changed, Some("start"));
        output
    }

    fn at(seconds: u64) -> Instant {
        Instant::START + Duration::from_secs(seconds)
    }

    const ON: Command = Command::Set {
        on: true,
        lasts: None,
    };

    #[test]
    fn commands_are_understood_or_told_how() {
        for (text, on) in [
            ("on", true),
            (" OFF\n", false),
            ("1", true),
            ("false", false),
        ] {
            let want = Command::Set { on, lasts: None };
            assert_eq!(Command::parse(text.as_bytes()), Ok(want), "{text}");
        }
        let timed = Command::Set {
            on: true,
            lasts: Some(Duration::from_millis(1_500)),
        };
        assert_eq!(Command::parse(b"{\"state\":\"on\",\"for\":1.5}"), Ok(timed));
        assert_eq!(Command::parse(b""), Ok(Command::Tell));
        for wrong in [
            "open",
            "{}",
            "{\"state\":2}",
            "{\"state\":true,\"for\":-1}",
            "{\"state\":true,\"for\":1e99}",
            "{\"state\":true,\"until\":3}",
            "\u{FFFD}",
        ] {
            assert!(Command::parse(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn who_commands_hears_when_it_is_switched() {
        let mut relay = output(None, LinkLoss::Keep);
        assert_eq!(relay.command(at(1), ON, Some("a")), Heed::AnswerLater);
        assert_eq!((relay.switch(), relay.switch()), (Some(true), None));
        assert_eq!(relay.command(at(1), ON, Some("b")), Heed::AnswerLater);
        let outcome = relay.switched(None);
        assert_eq!(
            (outcome.askers, outcome.changed),
            (vec!["a".to_owned(), "b".to_owned()], Some("command"))
        );
        assert_eq!(relay.command(at(2), ON, Some("c")), Heed::AnswerNow);
        assert_eq!(relay.switch(), None);
        assert_eq!(
            relay.command(
                at(3),
                Command::Set {
                    on: false,
                    lasts: None
                },
                None
            ),
            Heed::AnswerLater
        );
        assert_eq!(relay.switch(), Some(false));
        let outcome = relay.switched(Some("no such line"));
        assert_eq!(
            (outcome.fault.as_deref(), outcome.changed),
            (Some("no such line"), None)
        );
    }

    #[test]
    fn a_switch_that_failed_is_not_taken_for_done() {
        let mut relay = output(None, LinkLoss::Safe);
        relay.command(at(1), ON, Some("a"));
        relay.switch();
        let outcome = relay.switched(Some("no such line"));
        assert_eq!((outcome.askers.len(), relay.shown()), (1, None));
        assert_eq!(relay.switch(), None, "nobody asked for it again");
        assert_eq!(relay.command(at(2), ON, Some("b")), Heed::AnswerLater);
        assert_eq!(relay.switch(), Some(true), "now somebody did");
        // The line to the hub is lost while it is switched, which fails: safe is what counts.
        relay.link_lost();
        relay.switched(Some("no such line"));
        assert_eq!(relay.switch(), Some(false));
        relay.switched(Some("no such line"));
        assert_eq!((relay.switch(), relay.shown()), (None, None));
        relay.go_safe("stop");
        assert_eq!(relay.switch(), Some(false), "the end tries once more");
        assert_eq!(relay.switched(None).changed, Some("stop"));
        assert_eq!(relay.shown(), Some(false));
    }

    #[test]
    fn a_safe_state_that_failed_is_tried_until_it_holds() {
        let mut heater = output(Some(30), LinkLoss::Safe);
        heater.command(at(0), ON, None);
        heater.switch();
        heater.switched(None);
        heater.time(at(30));
        let mut tried = Vec::new();
        for second in 30..200 {
            heater.time(at(second));
            if heater.switch() == Some(false) {
                tried.push(second - 30);
                heater.switched(Some("input/output error"));
            }
        }
        assert_eq!(tried.get(..5), Some(&[0, 2, 5, 10, 19][..]), "{tried:?}");
        assert!(tried.last().is_some_and(|last| *last > 130), "{tried:?}");
        let due = heater.deadline().unwrap();
        heater.time(due);
        assert_eq!(heater.switch(), Some(false));
        assert_eq!(heater.switched(None).changed, Some("max_on"));
        assert_eq!((heater.shown(), heater.deadline()), (Some(false), None));
    }

    #[test]
    fn it_goes_back_after_its_time() {
        let mut relay = output(Some(30), LinkLoss::Keep);
        relay.command(at(0), ON, None);
        relay.switch();
        relay.switched(None);
        assert_eq!(relay.deadline(), Some(at(30)));
        relay.time(at(29));
        assert_eq!(relay.switch(), None);
        relay.time(at(30));
        assert_eq!(relay.switch(), Some(false));
        assert_eq!(relay.switched(None).changed, Some("max_on"));
        // A command may ask for less, and not for more.
        for (lasts, until) in [(5, 105), (50, 130)] {
            let lasts = Some(Duration::from_secs(lasts));
            relay.command(at(100), Command::Set { on: true, lasts }, None);
            assert_eq!(relay.deadline(), Some(at(until)));
        }
    }

    #[test]
    fn a_lost_line_or_an_end_brings_it_to_its_safe_state() {
        for (loss, safe) in [(LinkLoss::Keep, false), (LinkLoss::Safe, true)] {
            let mut relay = output(None, loss);
            relay.command(at(0), ON, None);
            relay.switch();
            relay.switched(None);
            relay.link_lost();
            assert_eq!(relay.switch() == Some(false), safe);
        }
        let mut relay = output(None, LinkLoss::Keep);
        relay.command(at(0), ON, None);
        // The end comes while it is being switched.
        relay.switch();
        relay.go_safe("stop");
        assert_eq!(relay.switch(), None);
        relay.switched(None);
        assert_eq!(relay.switch(), Some(false));
    }
}
