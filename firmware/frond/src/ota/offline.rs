//! The same on a box on which no frond runs: what is decided is done at the next start.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use frond_clock::{Instant, Now, Timestamp};
use frond_config::Ota;
use frond_ota::{Check, Input, Order, Origin, Output, Settings, Start, State, Updater, Who, boot};
use frond_runtime::steward::{Text, dry_run};
use serde_json::{Value, json};

use super::asked::{self, Question};
use super::guardian::{from_bundle, text_of};
use super::report;
use super::store::Store;

/// The box's files, and what may be done with them.
pub(crate) struct Offline<'a> {
    ota: &'a Ota,
    path: &'a Path,
    store: Store,
}

impl<'a> Offline<'a> {
    /// `path` is the box's own file.
    pub(crate) fn new(ota: &'a Ota, path: &'a Path) -> Self {
        Self {
            ota,
            path,
            store: Store::new(&ota.store, ota.second.as_deref()),
        }
    }

    /// Does what is asked.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn answer(&self, question: Question) -> Result<Value, String> {
        match question {
            Question::Status => Ok(self.status()),
            Question::History => Ok(asked::history(self.updater().record())),
            Question::Check(bytes) => self.check(&bytes),
            Question::Apply(bytes) => self.drive(Input::Bundle {
                origin: Origin::Hand,
                bytes,
                ask: Some(ASK),
            }),
            Question::Order(Order::Confirm(_)) => {
                Err("no frond runs here: what is on trial is confirmed while it runs".to_owned())
            }
            Question::Order(order @ (Order::Back(_) | Order::Rescue | Order::KeepAsRescue)) => {
                self.drive(Input::Order { ask: ASK, order })
            }
        }
    }

    fn status(&self) -> Value {
        let updater = self.updater();
        let mut status = report::describe(now(), self.ota, &updater, None, None);
        if let Some(map) = status.as_object_mut() {
            map.insert("state".to_owned(), json!("not running"));
        }
        status
    }

    /// As after a start, but nothing is counted as one.
    fn updater(&self) -> Updater {
        let boot = boot(&self.store, &super::root(self.ota));
        let settings = Settings {
            window: self.ota.window,
            soak: self.ota.soak,
            built_s: frond_runtime::RELEASED_SECONDS,
        };
        Updater::new(now(), boot, self.who(), settings)
    }

    fn who(&self) -> Who {
        Who {
            device: self.ota.device.clone(),
            groups: self.ota.groups.clone(),
        }
    }

    fn in_force(&self, updater: &Updater) -> Text {
        let active = updater.record().active.choice;
        let start = Start::load(&self.store, updater.trust(), active);
        start.map_or(Text::Own, text_of)
    }

    fn check(&self, bytes: &[u8]) -> Result<Value, String> {
        let updater = self.updater();
        let verified = updater.judge(now(), Origin::Hand, bytes);
        let bundle = verified.map_err(|refusal| refusal.to_string())?.bundle;
        let old = self.in_force(&updater);
        let lines = dry_run(&crate::PRODUCT, self.path, &old, &from_bundle(bundle))?;
        Ok(json!({ "changes": lines }))
    }

    /// Until something would have to run.
    fn drive(&self, input: Input) -> Result<Value, String> {
        let mut updater = self.updater();
        if !matches!(updater.record().state, State::Idle) {
            return Err(
                "another configuration is on trial: start frond to see it through".to_owned(),
            );
        }
        updater.handle(now(), input);
        while let Some(output) = updater.poll() {
            let input = match output {
                Output::Check(choice, bundle) => {
                    let text = match bundle {
                        Some(bundle) => from_bundle(*bundle),
                        None => Start::load(&self.store, updater.trust(), choice)
                            .map(text_of)
                            .map_err(|unusable| unusable.to_string())?,
                    };
                    let old = self.in_force(&updater);
                    let checked = dry_run(&crate::PRODUCT, self.path, &old, &text);
                    Input::Checked(
                        choice,
                        checked.map(|_| vec![Check::Listeners, Check::Probe]),
                    )
                }
                Output::Write(ticket, file, bytes) => match self.store.write(file, &bytes) {
                    Ok(()) => Input::Wrote(ticket),
                    Err(why) => Input::Unwritten(ticket, why),
                },
                Output::Apply(_) | Output::Restart => {
                    return Ok(json!("it is tried at the next start of frond"));
                }
                Output::Answer(_, result) => return result.map(Value::String),
                Output::Remove(file) => {
                    self.store.remove(file);
                    continue;
                }
                Output::Event(_) => continue,
            };
            updater.handle(now(), input);
        }
        Err("nothing came of it".to_owned())
    }
}

const ASK: u64 = 1;

fn now() -> Now {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let since: Duration = since.unwrap_or_default();
    Now {
        mono: Instant::START,
        wall: Timestamp::from_nanos(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)),
    }
}
