use super::*;

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
        let (trust, floor): (&Trust, u64) = (updater.trust(), updater.record().floor);
        let who = Who {
            device: self.ota.device.clone(),
            groups: self.ota.groups.clone(),
        };
        let now_s = now.wall.as_nanos() / 1_000_000_000;
        let verified = verify(
            bytes,
            trust,
            &who,
            floor,
            now_s.max(updater.record().time_s),
        );
        let verified = verified.map_err(|refusal| refusal.to_string())?;
        Ok(from_bundle(verified.bundle))
    }

    pub(super) fn checked(&mut self, now: Now, result: Result<Vec<String>, String>) {
        match self.checking.pop_front() {
            Some(Asker::Person(ask)) => {
                let answer = result.map(|lines| json!({ "changes": lines }));
                self.out.push_back(Wish::Answer(ask, asked::answer(answer)));
            }
            Some(Asker::Updater) => {
                let needs = result.map(|lines| {
                    for line in lines {
                        self.out
                            .push_back(Wish::Say(Loud::Info, format!("ota: {line}")));
                    }
                    self.needs()
                });
                self.updater_takes(now, Input::Checked(needs));
            }
            None => {}
        }
    }

    pub(super) fn found(&mut self, now: Now, files: Vec<(String, Vec<u8>)>) {
        let is_idle = self.updater.as_ref().is_some_and(|it| it.state() == "idle");
        let next = self.folder.as_mut().filter(|_| is_idle);
        if let Some(bytes) = next.and_then(|folder| folder.next(files)) {
            let (origin, ask) = (Origin::Folder, None);
            self.updater_takes(now, Input::Bundle { origin, bytes, ask });
        }
    }
}
