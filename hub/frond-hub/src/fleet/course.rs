use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use frond_fleet::{Fleet, Question, Service};
use frond_runtime::Caller;
use serde_json::Value;

use super::host::Host;
use super::{Hub, Places, bucket, progress, say};

/// A rollout on its way: driven by the hub's fleet service, or by this command itself.
#[derive(Debug)]
pub(super) enum Course {
    /// Somebody else drives it and is asked.
    Elsewhere(Caller),
    /// This command does.
    Here(Box<Host>),
    /// Nobody does.
    Nowhere(Box<Fleet>),
}

/// How it is shown.
#[derive(Debug, clap::Args)]
pub(super) struct Shown {
    /// Answer in JSON, a line for each step
    #[arg(long)]
    json: bool,
}

/// How often a terminal is drawn anew.
const DRAW_EVERY: Duration = Duration::from_millis(500);
/// Steps after which there is none.
const LAST: [&str; 3] = ["done", "stopped", "aborted"];
const LAST_TIME: Duration = Duration::from_secs(2);
/// An error of a service is told in its header.
const ERROR: &str = "Nats-Service-Error: ";

const KEY_ELSEWHERE: &str = "this hub looks after its boxes itself, so that --confirm-key has no \
                             effect here: its fleet block needs it, as confirm_key";

/// Whether a fleet service answers at this hub.
pub(crate) fn is_served(caller: &mut Caller) -> bool {
    caller.request(&Service::ping(), b"").is_ok()
}

/// Asks the hub's fleet service.
pub(super) fn ask_service(caller: &mut Caller, question: &Question) -> Result<String, String> {
    let (endpoint, said) = question.said();
    let answer = caller.request(&Service::endpoint(endpoint), said.as_bytes())?;
    let header = String::from_utf8_lossy(&answer.header).into_owned();
    let refused = header.lines().find_map(|line| line.strip_prefix(ERROR));
    match refused {
        Some(why) => Err(why.to_owned()),
        None => Ok(String::from_utf8_lossy(&answer.payload).into_owned()),
    }
}

impl Course {
    /// To start or to change one.
    pub(super) fn join(hub: &Hub) -> Result<Self, String> {
        let mut caller = hub.connect()?;
        if is_served(&mut caller) {
            if hub.confirm_key.is_some() {
                return Err(KEY_ELSEWHERE.to_owned());
            }
            caller.subscribe(&Service::event("*"))?;
            return Ok(Self::Elsewhere(caller));
        }
        Ok(Self::Here(Box::new(Host::begin(caller, &hub.places())?)))
    }

    /// To look at one.
    pub(super) fn watch(hub: &Hub) -> Result<Self, String> {
        let mut caller = hub.connect()?;
        if is_served(&mut caller) {
            caller.subscribe(&Service::event("*"))?;
            return Ok(Self::Elsewhere(caller));
        }
        kept(&mut caller, &hub.places()).map(|fleet| Self::Nowhere(Box::new(fleet)))
    }

    pub(super) const fn is_driven_elsewhere(&self) -> bool {
        matches!(self, Self::Elsewhere(_))
    }

    pub(super) fn ask(&mut self, question: &Question) -> Result<String, String> {
        match self {
            Self::Elsewhere(caller) => ask_service(caller, question),
            Self::Here(host) => {
                // What is paused or ended tells no box before.
                let is_start = matches!(question, Question::Start(..));
                if is_start {
                    host.catch_up()?;
                }
                let answer = host.ask(question.clone())?;
                host.catch_up()?;
                host.settle()?;
                Ok(answer)
            }
            Self::Nowhere(_) => Err("nobody drives a rollout".to_owned()),
        }
    }

    /// Asks for a change and shows what came of it: whoever drove it may be gone after that.
    pub(super) fn change(&mut self, question: &Question, shown: &Shown) -> Result<(), String> {
        let answer = self.ask(question)?;
        shown.view(&parsed(&answer)?);
        Ok(())
    }

    pub(super) fn show_once(&mut self, shown: &Shown) -> Result<(), String> {
        let view = self.view()?;
        shown.view(&view);
        if let (Self::Nowhere(_), false, false) = (&*self, shown.json, progress::is_over(&view)) {
            say("nobody drives it: frond-hub fleet resume goes on");
        }
        Ok(())
    }

    /// Until it is over.
    ///
    /// # Errors
    /// Why it stopped.
    pub(super) fn follow(&mut self, shown: &Shown) -> Result<(), String> {
        let is_drawn = !shown.json && std::io::stdout().is_terminal();
        let mut drawn = 0;
        loop {
            let steps = self.steps(Instant::now() + DRAW_EVERY)?;
            let view = self.view()?;
            show_steps(&steps, shown.json, is_drawn);
            if is_drawn {
                drawn = draw(&progress::lines(&view), drawn);
            }
            if progress::is_over(&view) {
                let rest = self.last_steps(&steps)?;
                show_steps(&rest, shown.json, is_drawn);
                if let Self::Here(host) = self {
                    host.settle()?;
                    host.linger(LAST_TIME / 2)?;
                }
                if shown.json {
                    say(&view.to_string());
                }
                return progress::outcome(&view);
            }
        }
    }

    /// The steps up to the last one, which may be told after the state is seen.
    fn last_steps(&mut self, seen: &[String]) -> Result<Vec<String>, String> {
        let is_last = |step: &String| LAST.contains(&&*word_of(step, "kind"));
        let mut rest = Vec::new();
        let until = Instant::now() + LAST_TIME;
        while !seen.iter().chain(&rest).any(is_last) && Instant::now() < until {
            rest.extend(self.steps(until.min(Instant::now() + DRAW_EVERY))?);
        }
        Ok(rest)
    }

    /// What happens until then, as JSON.
    fn steps(&mut self, until: Instant) -> Result<Vec<String>, String> {
        match self {
            Self::Elsewhere(caller) => {
                let letter = caller.letter(until)?;
                let text = letter.map(|it| String::from_utf8_lossy(&it.payload).into_owned());
                Ok(text.into_iter().collect())
            }
            Self::Here(host) => {
                host.turn(until)?;
                let steps = host.steps().map(|step| {
                    let (kind, text) = (step.kind, step.text);
                    serde_json::json!({ "kind": kind, "text": text }).to_string()
                });
                Ok(steps.collect())
            }
            Self::Nowhere(_) => Err("nobody drives it: frond-hub fleet resume goes on".to_owned()),
        }
    }

    fn view(&mut self) -> Result<Value, String> {
        let text = match self {
            Self::Elsewhere(caller) => ask_service(caller, &Question::Rollout)?,
            Self::Here(host) => host.ask(Question::Rollout)?,
            Self::Nowhere(fleet) => {
                let now = super::now();
                let view = fleet.view(now).rollout;
                let view = view.ok_or("nothing was ever rolled out")?;
                serde_json::to_string(&view).unwrap_or_default()
            }
        };
        parsed(&text)
    }
}

impl Shown {
    fn view(&self, view: &Value) {
        if self.json {
            say(&view.to_string());
        } else {
            say(&progress::lines(view).join("\n"));
        }
    }
}

fn parsed(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|_| "an answer nobody knows".to_owned())
}

/// As it was left.
fn kept(caller: &mut Caller, places: &Places) -> Result<Fleet, String> {
    let mut fleet = Fleet::default();
    let rollout = bucket::get(caller, &places.rollouts, "current")?;
    let bundle = bucket::get(caller, &places.rollouts, "bundle")?;
    if let (Some((_, rollout)), Some((_, bundle))) = (rollout, bundle) {
        fleet.handle(super::now(), frond_fleet::Input::Kept { rollout, bundle });
    }
    Ok(fleet)
}

fn show_steps(steps: &[String], json: bool, is_drawn: bool) {
    for step in steps {
        match (json, is_drawn) {
            (true, _) => say(step),
            (false, false) => say(&word_of(step, "text")),
            (false, true) => {}
        }
    }
}

fn word_of(step: &str, key: &str) -> String {
    let step: Value = serde_json::from_str(step).unwrap_or_default();
    let word = step.get(key).and_then(Value::as_str);
    word.unwrap_or_default().to_owned()
}

/// In place of what was drawn before; how many lines that were.
fn draw(lines: &[String], before: usize) -> usize {
    let up = match before {
        0 => String::new(),
        before => format!("\x1b[{before}A\x1b[J"),
    };
    let mut out = std::io::stdout();
    let _ = writeln!(out, "{up}{}", lines.join("\n"));
    let _ = out.flush();
    lines.len()
}
