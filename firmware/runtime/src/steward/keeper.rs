use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{JoinHandle, spawn_local};

use super::control::{self, Asker, Question};
use super::worker::{self, Work};
use super::{Loud, News, Steward, Taken, Text, Wish, brought, check, own_line, sight, talk};
use crate::Product;
use crate::core::Core;
use crate::log::Log;
use crate::options::Options;
use crate::reload;

/// Drives a steward: carries out what it wants and tells it what came of it.
#[derive(Debug)]
pub(crate) struct Keeper<'s> {
    steward: &'s mut dyn Steward,
    core: Rc<Core>,
    /// The text that is in effect.
    text: Text,
    news_in: UnboundedSender<News>,
    news: UnboundedReceiver<News>,
    questions: UnboundedReceiver<Question>,
    words: UnboundedSender<Vec<u8>>,
    todo: UnboundedSender<Work>,
    asking: HashMap<u64, Asker>,
    next_ask: u64,
    tasks: Vec<JoinHandle<()>>,
}

/// What the server's loop goes on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Took {
    Nothing,
    /// It ends, to start anew.
    Restart,
}

/// What a wish may change besides the steward.
pub(crate) struct Hands<'a> {
    pub(crate) product: &'a Product,
    pub(crate) options: &'a mut Options,
    pub(crate) log: &'a Log,
    pub(crate) reread: &'a dyn Fn(&Text) -> Result<Options, String>,
}

impl<'s> Keeper<'s> {
    /// Around a steward whose server is ready.
    pub(crate) fn start(
        steward: &'s mut dyn Steward,
        core: &Rc<Core>,
        text: Text,
        options: &Options,
    ) -> Self {
        let (news_in, news) = unbounded_channel();
        let (words, said) = unbounded_channel();
        let (todo, work) = unbounded_channel();
        let (questions_in, questions) = unbounded_channel();
        let login = options.config.ota.as_ref().map(|ota| ota.login.clone());
        let line = own_line::keep(
            Rc::clone(core),
            login.unwrap_or_default(),
            news_in.clone(),
            said,
        );
        let mut tasks = vec![
            spawn_local(line),
            spawn_local(worker::work(work, news_in.clone())),
        ];
        let path = steward.control();
        match control::bind(&path) {
            Ok(listener) => tasks.push(spawn_local(control::serve(listener, questions_in))),
            Err(error) => {
                tracing::warn!("ota: nobody can ask at {}: {error}", path.display());
            }
        }
        Self {
            steward,
            core: Rc::clone(core),
            text,
            news_in,
            news,
            questions,
            words,
            todo,
            asking: HashMap::new(),
            next_ask: 1,
            tasks,
        }
    }

    /// The text that is in effect.
    pub(crate) const fn text(&self) -> &Text {
        &self.text
    }

    /// The server runs: the steward begins.
    pub(crate) fn begin(&mut self, hands: &mut Hands<'_>) -> Took {
        self.steward.begin(self.core.clock().now());
        self.carry_out_and_show(hands)
    }

    /// What happens next.
    pub(crate) async fn next(&mut self) -> News {
        let deadline = self.steward.deadline();
        let clock = self.core.clock().clone();
        let wake = async move {
            match deadline {
                Some(at) => tokio::time::sleep_until(clock.system(at).into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            Some(news) = self.news.recv() => news,
            Some((line, asker)) = self.questions.recv() => {
                let ask = self.next_ask;
                self.next_ask += 1;
                self.asking.insert(ask, asker);
                News::Asked(ask, line)
            }
            () = wake => News::Time,
        }
    }

    /// Tells the steward, and carries out what it wants.
    pub(crate) fn take(&mut self, news: News, hands: &mut Hands<'_>) -> Took {
        self.steward.handle(self.core.clock().now(), news);
        self.carry_out_and_show(hands)
    }

    fn carry_out_and_show(&mut self, hands: &mut Hands<'_>) -> Took {
        let took = self.carry_out(hands);
        let standing = self.steward.standing(self.core.clock().now());
        self.core.meter().borrow_mut().set_configuration(standing);
        took
    }

    fn carry_out(&mut self, hands: &mut Hands<'_>) -> Took {
        while let Some(wish) = self.steward.poll() {
            match wish {
                Wish::Restart => return Took::Restart,
                Wish::Check(text) => {
                    let checked = (hands.reread)(&text).and_then(|new| {
                        check::try_out(hands.product, &self.core, &hands.options.config, &new)
                    });
                    self.tell(News::Checked(checked));
                }
                Wish::Apply(text) => {
                    let taken = self.apply(&text, hands);
                    self.tell(News::Applied(taken));
                }
                Wish::Look => {
                    let look = sight::look(Rc::clone(&self.core), self.news_in.clone());
                    spawn_local(look);
                }
                Wish::Subscribe(id, subject) => self.say(format!("SUB {subject} {id}\r\n").into()),
                Wish::Unsubscribe(id) => self.say(format!("UNSUB {id}\r\n").into()),
                Wish::Publish {
                    subject,
                    reply,
                    payload,
                } => self.say(talk::publish(&subject, reply.as_deref(), &payload)),
                Wish::Do(work) => drop(self.todo.send(work)),
                Wish::Bring(number, download, into) => {
                    let season = Arc::clone(self.core.tls().season());
                    let news = self.news_in.clone();
                    spawn_local(brought::bring(number, download, into, season, news));
                }
                Wish::Say(Loud::Info, text) => tracing::info!("{text}"),
                Wish::Say(Loud::Warn, text) => tracing::warn!("{text}"),
                Wish::Answer(ask, text) => {
                    if let Some(asker) = self.asking.remove(&ask) {
                        asker.answer(&text);
                    }
                }
            }
        }
        Took::Nothing
    }

    fn apply(&mut self, text: &Text, hands: &mut Hands<'_>) -> Taken {
        let new = match (hands.reread)(text) {
            Ok(new) => new,
            Err(why) => return Taken::Not(why),
        };
        if let Err(refused) = frond_config::changes(&hands.options.config, &new.config) {
            return Taken::NeedsRestart(refused.to_string());
        }
        // Whether it can be had is known after a start, which goes back when it cannot.
        if hands.options.config.jetstream.enabled != new.config.jetstream.enabled {
            return Taken::NeedsRestart("JetStream is switched on or off".to_owned());
        }
        let reread = || Ok(new.clone());
        match reload::reload(&self.core, hands.options, hands.log, &reread) {
            Ok(()) => {
                self.text = text.clone();
                Taken::Now
            }
            Err(why) => Taken::NeedsRestart(why),
        }
    }

    fn tell(&self, news: News) {
        let _ = self.news_in.send(news);
    }

    fn say(&self, words: Vec<u8>) {
        let _ = self.words.send(words);
    }

    /// The server ends.
    pub(crate) fn stop(self) {
        for task in self.tasks {
            task.abort();
        }
        let _ = std::fs::remove_file(self.steward.control());
    }
}
