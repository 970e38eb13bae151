use frond_clock::Now;
use frond_ota::{Input, Origin, Updater};
use frond_runtime::steward::{Loud, Text, Wish};
use serde_json::json;

use super::folder::Folder;
use super::{Asker, Guardian, from_bundle};
use crate::ota::asked::{self, Question};

impl Guardian {
    pub(super) fn asked(&mut self, now: Now, ask: u64, line: &str) {
        let Some(updater) = &self.updater else { return };
        let answer = match Question::parse(line) {
            Err(why) => Err(why),
            Ok(Question::Status) => Ok(self.describe(now)),
            Ok(Question::History) => Ok(asked::history(updater.record())),
            Ok(Question::Apply(bytes)) => {
                let (origin, ask) = (Origin::Hand, Some(ask));
                return self.updater_takes(now, Input::Bundle { origin, bytes, ask });
            }
            Ok(Question::Order(order)) => {
                return self.updater_takes(now, Input::Order { ask, order });
            }
            Ok(Question::Check(bytes)) => match self.judge(now, &bytes) {
                Err(why) => Err(why),
                Ok(text) => {
                    self.checking.push_back(Asker::Person(ask));
                    return self.check_text(Some(text));
                }
            },
        };
        self.out.push_back(Wish::Answer(ask, asked::answer(answer)));
    }

    fn judge(&self, now: Now, bytes: &[u8]) -> Result<Text, String> {
        let updater = self.updater.as_ref().ok_or("not ready yet")?;
        let verified = updater.judge(now, Origin::Hand, bytes);
        let verified = verified.map_err(|refusal| refusal.to_string())?;
        Ok(from_bundle(verified.bundle))
    }

    pub(super) fn checked(&mut self, now: Now, result: Result<Vec<String>, String>) {
        match self.checking.pop_front() {
            Some(Asker::Person(ask)) => {
                let answer = result.map(|lines| json!({ "changes": lines }));
                self.out.push_back(Wish::Answer(ask, asked::answer(answer)));
            }
            Some(Asker::Updater(choice)) => match result {
                Ok(lines) => {
                    let lines = lines.into_iter().map(|line| format!("ota: {line}"));
                    let said = lines.map(|line| Wish::Say(Loud::Info, line));
                    self.out.extend(said);
                    // Who is there just before is who must be there again.
                    self.to_start = Some(choice);
                    self.looked.push_back(self.on_trial());
                    self.out.push_back(Wish::Look);
                }
                Err(why) => self.updater_takes(now, Input::Checked(choice, Err(why))),
            },
            None => {}
        }
    }

    pub(super) fn found(&mut self, now: Now, files: Vec<(String, Vec<u8>)>) {
        let next = match &mut self.folder {
            Some(folder) if is_idle(self.updater.as_ref()) => folder.next(files),
            Some(_) | None => None,
        };
        let Some(bytes) = next else { return };
        self.arrives(now, Origin::Folder, bytes);
        // Nothing came of it: there may be another one.
        if is_idle(self.updater.as_ref()) {
            self.out.extend(self.folder.as_ref().map(Folder::look));
        }
    }
}

fn is_idle(updater: Option<&Updater>) -> bool {
    updater.is_some_and(|updater| updater.state() == "idle")
}
