use frond_fleet::{Pin, Question};
use serde_json::Value;

use super::course::{ask_service, is_served};
use super::host::Host;
use super::{Hub, bucket, say};

/// Shows the boxes.
#[derive(Debug, clap::Args)]
pub(super) struct List {
    /// Answer in JSON, one box a line
    #[arg(long)]
    json: bool,
    /// Only those with which something is wrong
    #[arg(long)]
    alarms: bool,
    #[command(flatten)]
    hub: Hub,
}

/// Takes a box off the list until it says something again.
#[derive(Debug, clap::Args)]
pub(super) struct Forget {
    /// Its name
    name: String,
    #[command(flatten)]
    hub: Hub,
}

impl List {
    pub(super) fn run(&self) -> Result<(), String> {
        let mut caller = self.hub.connect()?;
        let mut ask: Box<dyn FnMut(Question) -> Result<String, String>> = if is_served(&mut caller)
        {
            Box::new(move |question| ask_service(&mut caller, &question))
        } else {
            let mut host = Host::looker(caller, &self.hub.places())?;
            host.catch_up()?;
            Box::new(move |question| host.ask(question))
        };
        let mut after = String::new();
        loop {
            let limit = usize::MAX;
            let answer = ask(Question::Boxes {
                after: after.clone(),
                limit,
            })?;
            let boxes: Vec<Value> = serde_json::from_str(&answer).unwrap_or_default();
            let Some(last) = boxes.last().and_then(|it| it.get("name")?.as_str()) else {
                break;
            };
            last.clone_into(&mut after);
            let has_alarm = |it: &&Value| it.pointer("/alarms/0").is_some();
            for it in boxes.iter().filter(|it| !self.alarms || has_alarm(it)) {
                say(&if self.json { it.to_string() } else { line(it) });
            }
        }
        if self.alarms || self.json {
            return Ok(());
        }
        let leaves: Vec<Value> = serde_json::from_str(&ask(Question::Leaves)?).unwrap_or_default();
        leaves.iter().for_each(|it| say(&leaf(it)));
        Ok(())
    }
}

impl Forget {
    pub(super) fn run(&self) -> Result<(), String> {
        let mut caller = self.hub.connect()?;
        let registry = self.hub.places().registry;
        let kept = bucket::get(&mut caller, &registry, &self.name)?;
        if kept.is_none_or(|(_, report)| report.is_empty()) {
            return Err(format!(
                "no box called {} reported here; what is listed as \"no box\" is a line of a \
                 server that says nothing of itself, and stays on the list",
                self.name
            ));
        }
        bucket::delete(&mut caller, &registry, &self.name)?;
        bucket::delete(&mut caller, &registry, &Pin::key_of(&self.name))?;
        say(&format!("{} is off the list", self.name));
        Ok(())
    }
}

fn line(it: &Value) -> String {
    let word = |at: &str| it.pointer(at).and_then(Value::as_str).unwrap_or("?");
    let version = it.pointer("/active/version").and_then(Value::as_u64);
    let ago = it.get("seen_s").and_then(Value::as_i64).unwrap_or(0);
    let ago = super::now_s() - ago;
    let state = match it.get("is_silent").and_then(Value::as_bool) {
        Some(true) => "silent",
        Some(false) | None => word("/state"),
    };
    let alarms = it.get("alarms").and_then(Value::as_array);
    let alarms: Vec<String> = alarms.into_iter().flatten().map(alarm).collect();
    let wrong = if alarms.is_empty() {
        String::new()
    } else {
        format!("  {}", alarms.join("; "))
    };
    let (name, version) = (word("/name"), version.unwrap_or(0));
    format!("{name:<24} {state:<12} version {version:<12} heard {ago:>5} s ago{wrong}")
}

/// A server that says nothing of itself.
fn leaf(it: &Value) -> String {
    let word = |key: &str| it.get(key).and_then(Value::as_str).unwrap_or("?");
    let is_up = it.get("is_up").and_then(Value::as_bool) == Some(true);
    let state = if is_up { "up" } else { "down" };
    let seen_s = it.get("seen_s").and_then(Value::as_i64).unwrap_or(0);
    let (ago, name, account) = (super::now_s() - seen_s, word("name"), word("account"));
    format!("{name:<24} {state:<12} no box, in account {account}, seen {ago:>5} s ago")
}

/// In words, with what to do.
fn alarm(it: &Value) -> String {
    let word = |key: &str| it.get(key).and_then(Value::as_str).unwrap_or_default();
    let detail = word("detail");
    match word("code") {
        "silent" => "says nothing: is it switched on, and its line up?".to_owned(),
        "cloned" => "two boxes use this name: give one of them another".to_owned(),
        "stranger" => {
            "somebody speaks in its name without its key: another box, a till, or this box \
                       with a new disk or older software; fleet forget it if that is so"
                .to_owned()
        }
        "failed" => format!("went back from version {detail}"),
        "refused" => format!("did not take version {detail}"),
        "rescue" => "runs its rescue configuration: send a good one".to_owned(),
        "certificate_ended" => "a certificate has ended: renew it".to_owned(),
        "certificate_ends" => "a certificate ends soon: renew it".to_owned(),
        "disk_full" => "its disk is full".to_owned(),
        "disk_scarce" => format!("its disk is {detail} % full"),
        "hot" => format!("its board has {detail} °C"),
        "worn" => format!("its flash is worn by {detail} %: plan a new one"),
        "clock_untrusted" => "it does not know the time yet".to_owned(),
        code => code.to_owned(),
    }
}
