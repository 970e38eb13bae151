use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use frond_clock::{Instant, Now};
use frond_config::Ota;
use frond_ota::{
    Applied, Boot, Check, Choice, Event, Input, Origin, Output, Settings, Start, Ticket, Updater,
    Who, boot,
};
use frond_runtime::steward::{Configuration, Loud, News, Sight, Steward, Taken, Text, Wish};
use serde_json::{Value, json};

use super::asked;
use super::identity::Identity;
use super::probe::Probe;
use super::report::{self, Reporter};
use super::store::Store;
use super::watch::Watch;

mod claiming;
mod folder;
mod health;
mod objects;
mod people;
mod reading;
mod standing;
mod vow;
mod web;

pub(super) use standing::is_rescue;

use folder::Folder;
use objects::Objects;
use vow::Vow;
use web::Web;

/// Looks after the configuration of this box.
#[derive(Debug)]
pub(crate) struct Guardian {
    ota: Ota,
    store: Store,
    inbox: String,
    /// Another one after each start.
    instance: String,
    /// Its key; `None`: there is none, and the log says why.
    identity: Option<Identity>,
    boot: Option<Boot>,
    updater: Option<Updater>,
    tickets: BTreeMap<u64, Ticket>,
    next_number: u64,
    /// Who asked for the checks that are under way, in order.
    checking: VecDeque<Asker>,
    watches: Vec<Watch>,
    objects: Objects,
    web: Option<Web>,
    /// What the hub is to sign for what is on trial.
    vow: Option<Vow>,
    probe: Probe,
    /// What was on trial when the probe began.
    probed: Option<Choice>,
    /// What was on trial at each look that is under way.
    looked: VecDeque<Option<Choice>>,
    reporter: Reporter,
    folder: Option<Folder>,
    sight: Option<Sight>,
    /// Who was there before the configuration on trial; unknown after a start.
    before: Option<BTreeSet<String>>,
    /// And the streams.
    kept_before: Option<BTreeSet<(String, String)>>,
    /// What was checked is started when it was seen who is there now.
    to_start: Option<Choice>,
    /// Where what is being checked came from.
    origin: Origin,
    own_client: Result<(), String>,
    look_at: Instant,
    told: Option<(String, u64)>,
    /// What was found unfit, and why: the hub wants to know.
    refused: Option<Value>,
    out: VecDeque<Wish>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asker {
    Updater(Choice),
    Person(u64),
}

/// While something is on trial all is looked at that often.
const LOOK_EVERY_ON_TRIAL: Duration = Duration::from_secs(1);
/// And that often otherwise.
const LOOK_EVERY: Duration = Duration::from_secs(10);

impl Guardian {
    pub(crate) fn new(ota: &Ota) -> Self {
        let inbox = format!("_INBOX.frond-{}-{}", ota.device, std::process::id());
        Self {
            instance: instance(),
            identity: None,
            store: Store::new(&ota.store, ota.second.as_deref()),
            boot: None,
            updater: None,
            tickets: BTreeMap::new(),
            next_number: 1,
            checking: VecDeque::new(),
            watches: [Watch::of_bucket, Watch::of_objects]
                .iter()
                .filter_map(|of| of(ota, &inbox))
                .collect(),
            objects: Objects::new(ota, &inbox),
            web: ota.source.web.as_ref().map(|it| Web::new(it, &ota.device)),
            vow: None,
            probe: Probe::new(ota, &inbox),
            probed: None,
            looked: VecDeque::new(),
            reporter: Reporter::new(ota, &inbox),
            folder: ota.source.folder.as_deref().map(Folder::new),
            sight: None,
            before: None,
            kept_before: None,
            to_start: None,
            origin: Origin::Hand,
            own_client: Err("it is not connected yet".to_owned()),
            look_at: Instant::START,
            told: None,
            refused: None,
            out: VecDeque::new(),
            ota: ota.clone(),
            inbox,
        }
    }

    /// Writes what a start has to; what is started then.
    fn write_boot(&self, mut boot: Boot) -> Boot {
        for (file, bytes) in boot.writes.clone() {
            if let Err(why) = self.store.write(file, &bytes) {
                boot = boot.unwritten(&self.store, &why);
                break;
            }
        }
        boot
    }

    /// What is on trial now.
    fn on_trial(&self) -> Option<Choice> {
        let (trial, ..) = self.updater.as_ref()?.trial()?;
        Some(trial.candidate.entry.choice)
    }

    /// Something is so; it counts for what was on trial when it was looked at.
    fn health(&mut self, now: Now, of: Option<Choice>, check: Check, result: Result<(), String>) {
        if let Some(of) = of {
            self.updater_takes(now, Input::Health { of, check, result });
        }
    }

    fn updater_takes(&mut self, now: Now, input: Input) {
        if let Some(updater) = &mut self.updater {
            updater.handle(now, input);
        }
        self.carry_out(now);
    }

    fn carry_out(&mut self, now: Now) {
        while let Some(output) = self.updater.as_mut().and_then(Updater::poll) {
            match output {
                Output::Check(choice, bundle) => {
                    self.checking.push_back(Asker::Updater(choice));
                    let start = match bundle {
                        Some(bundle) => Some(from_bundle(*bundle)),
                        None => self.load(choice),
                    };
                    self.check_text(start);
                }
                Output::Write(ticket, file, bytes) => {
                    let number = self.next_number;
                    self.next_number += 1;
                    self.tickets.insert(number, ticket);
                    let store = self.store.clone();
                    let work = move || News::Done(number, store.write(file, &bytes));
                    self.out.push_back(Wish::Do(Box::new(work)));
                }
                Output::Remove(file) => {
                    let store = self.store.clone();
                    let work = move || {
                        store.remove(file);
                        News::Done(0, Ok(()))
                    };
                    self.out.push_back(Wish::Do(Box::new(work)));
                }
                Output::Apply(choice) => match self.load(choice) {
                    Some(text) => self.out.push_back(Wish::Apply(text)),
                    None => {
                        let why = "it is damaged on the disk".to_owned();
                        self.updater_takes(now, Input::Applied(Err(why)));
                    }
                },
                Output::Restart => self.out.push_back(Wish::Restart),
                Output::Event(event) => self.tell(now, &event),
                Output::Answer(ask, result) => {
                    let line = asked::answer(result.map(Value::String));
                    self.out.push_back(Wish::Answer(ask, line));
                }
            }
        }
        self.report_change(now);
    }

    fn check_text(&mut self, text: Option<Text>) {
        match text {
            Some(text) => self.out.push_back(Wish::Check(text)),
            // Answered in order all the same.
            None => {
                let work = || News::Checked(Err("it is damaged on the disk".to_owned()));
                self.out.push_back(Wish::Do(Box::new(work)));
            }
        }
    }

    fn load(&self, choice: Choice) -> Option<Text> {
        let trust = self.updater.as_ref()?.trust();
        Start::load(&self.store, trust, choice).ok().map(text_of)
    }

    fn tell(&mut self, now: Now, event: &Event) {
        if let Event::Received { origin, .. } = event {
            self.origin = *origin;
            self.refused = None;
        }
        if let Event::Refused {
            version,
            digest,
            why,
            ..
        } = event
            && (version.is_some() || digest.is_some())
        {
            self.refused = Some(json!({
                "version": version.unwrap_or(0),
                "digest": digest.map(|digest| digest.to_string()),
                "why": why,
            }));
        }
        let loud = if event.is_bad() {
            Loud::Warn
        } else {
            Loud::Info
        };
        self.out.push_back(Wish::Say(loud, format!("ota: {event}")));
        let payload = json!({
            "device": self.ota.device,
            "event": event.kind(),
            "version": event.version(),
            "text": event.to_string(),
            "time": now.wall.to_string(),
        });
        self.out.push_back(Wish::Publish {
            subject: format!("$FROND.OTA.{}.{}", self.ota.device, event.kind()),
            reply: None,
            payload: payload.to_string().into_bytes(),
        });
        self.look_at = now.mono;
    }

    fn describe(&self, now: Now) -> Value {
        let Some(updater) = &self.updater else {
            return Value::Null;
        };
        let nonce = self.vow.as_ref().map(Vow::nonce);
        let mut status = report::describe(now, &self.ota, updater, self.sight.as_ref(), nonce);
        if let Some(map) = status.as_object_mut() {
            map.insert("instance".to_owned(), json!(self.instance));
            if let Some(identity) = &self.identity {
                let (key, proof) = identity.report(&self.ota.device);
                map.insert("identity".to_owned(), key);
                map.insert("claim".to_owned(), proof);
            }
            if let Some(refused) = &self.refused {
                map.insert("refused".to_owned(), refused.clone());
            }
        }
        status
    }

    /// Tells the hub at once when the state is another one.
    fn report_change(&mut self, now: Now) {
        self.take_vow();
        let Some(updater) = &self.updater else { return };
        let is = (updater.state().to_owned(), updater.record().active.version);
        if self.told.as_ref() != Some(&is) {
            self.told = Some(is);
            self.report(now);
        }
    }

    fn report(&mut self, now: Now) {
        if self.own_client.is_ok() {
            let status = self.describe(now);
            let on_trial = self.on_trial();
            let identity = self.identity.as_ref();
            self.out
                .extend(self.reporter.say(status, on_trial, identity));
        }
    }

    fn connected(&mut self, now: Now) {
        self.own_client = Ok(());
        let inbox = format!("{}.a.>", self.inbox);
        self.out.push_back(Wish::Subscribe(1, inbox));
        let subject = self.probe.subject().to_owned();
        self.out.push_back(Wish::Subscribe(2, subject));
        self.begin_watch(now);
        self.report(now);
        self.look_at = now.mono;
    }

    fn applied(&mut self, now: Now, taken: Taken) {
        let result = match taken {
            Taken::Now => Ok(Applied::Reloaded),
            Taken::NeedsRestart(why) => {
                let text = format!("ota: a restart is needed: {why}");
                self.out.push_back(Wish::Say(Loud::Info, text));
                Ok(Applied::NeedsRestart)
            }
            Taken::Not(why) => Err(why),
        };
        self.updater_takes(now, Input::Applied(result));
    }

    fn done(&mut self, now: Now, number: u64, result: Result<(), String>) {
        if let Some(ticket) = self.tickets.remove(&number) {
            let input = match result {
                Ok(()) => Input::Wrote(ticket),
                Err(why) => Input::Unwritten(ticket, why),
            };
            self.updater_takes(now, input);
        }
    }

    fn on_time(&mut self, now: Now) {
        for watch in &mut self.watches {
            if watch.is_late(now.mono) {
                self.out.extend(watch.begin(now.mono));
            }
        }
        self.object_on_time(now);
        self.web_on_time(now);
        if now.mono >= self.look_at {
            let on_trial = self.updater.as_ref().is_some_and(|it| it.trial().is_some());
            let every = if on_trial {
                LOOK_EVERY_ON_TRIAL
            } else {
                LOOK_EVERY
            };
            self.look_at = now.mono + every;
            self.look_around(now, on_trial);
        }
        self.updater_takes(now, Input::Time);
    }
}

impl Steward for Guardian {
    fn choose(&mut self) -> Text {
        self.store.make();
        let boot = self.write_boot(boot(&self.store, &super::root(&self.ota)));
        let text = text_of(boot.start.clone());
        self.boot = Some(boot);
        text
    }

    fn failed(&mut self, why: &str) -> bool {
        let Some(boot) = self.boot.take() else {
            return false;
        };
        let (is_trial, is_last) = (boot.is_trial(), boot.is_last());
        let version = boot.start.version();
        if !is_last {
            let _ = writeln!(
                std::io::stderr(),
                "frond: version {version} of the configuration does not start, \
                 going back to the last good one: {why}"
            );
        }
        let boot = boot.gave_up(&self.store, &format!("it does not start: {why}"));
        let boot = self.write_boot(boot);
        // What could not be written down would be started again.
        !is_last && (is_trial || !boot.writes.is_empty())
    }

    fn begin(&mut self, now: Now) {
        let Some(boot) = self.boot.take() else { return };
        let who = Who {
            device: self.ota.device.clone(),
            groups: self.ota.groups.clone(),
        };
        let settings = Settings {
            window: self.ota.window,
            soak: self.ota.soak,
            built_s: frond_runtime::RELEASED_SECONDS,
        };
        self.be_somebody(now);
        let version = boot.start.version();
        if version > 0 {
            let text = format!("ota: version {version} is run in place of the box's own file");
            self.out.push_back(Wish::Say(Loud::Info, text));
        }
        self.updater = Some(Updater::new(now, boot, who, settings));
        self.carry_out(now);
    }

    fn handle(&mut self, now: Now, news: News) {
        match news {
            News::Connected => self.connected(now),
            News::Lost(why) => self.lost(now, why),
            News::Message(letter) => self.read(now, &letter),
            News::Checked(result) => self.checked(now, result),
            News::Applied(taken) => self.applied(now, taken),
            News::Seen(sight) => self.seen(now, *sight),
            News::Done(number, result) => self.done(now, number, result),
            News::Found(files) => self.found(now, files),
            News::Brought(_, result) => self.brought(now, result),
            News::Asked(ask, line) => self.asked(now, ask, &line),
            News::Time => {}
        }
        self.on_time(now);
    }

    fn poll(&mut self) -> Option<Wish> {
        self.out.pop_front()
    }

    fn deadline(&self) -> Option<Instant> {
        let watches = self.watches.iter().map(Watch::deadline);
        let updater = self.updater.as_ref().and_then(Updater::deadline);
        let web = self.web.as_ref().and_then(Web::deadline);
        let all = [Some(self.look_at), updater, web, self.objects.deadline()];
        all.into_iter().chain(watches).flatten().min()
    }

    fn standing(&self, now: Now) -> Configuration {
        let updater = self.updater.as_ref();
        let mut standing =
            updater.map_or_else(Configuration::default, |it| standing::standing(now, it));
        if let Some(identity) = &self.identity {
            let (key, code) = identity.shown();
            key.clone_into(&mut standing.identity);
            standing.claim_code = code;
        }
        standing
    }

    fn control(&self) -> PathBuf {
        self.store.control()
    }
}

/// What no other start has: two boxes that use one name are told apart by it.
fn instance() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanos = since.unwrap_or_default().as_nanos();
    format!("{:x}-{nanos:x}", std::process::id())
}

pub(super) fn text_of(start: Start) -> Text {
    match start {
        Start::Factory => Text::Own,
        Start::Bundle(_, bundle) => from_bundle(*bundle),
    }
}

pub(super) fn from_bundle(bundle: frond_ota::Bundle) -> Text {
    Text::Other {
        name: format!("version-{}.conf", bundle.version),
        text: bundle.config,
        files: bundle.files,
    }
}
