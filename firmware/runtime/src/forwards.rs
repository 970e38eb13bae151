//! The shell around `forward` blocks: each is a client of this very server, in the account of the
//! line that it forwards over.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use frond_clock::Instant;
use frond_config::Config;
use frond_forward::{Forward, Input, Level, Output, Setup, Status};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};
use tokio::task::{JoinHandle, spawn_local};

use crate::clock::pause;
use crate::core::Core;
use crate::limits::{OWN_LINE_PAUSE, READ_BYTES};
use crate::listener;

mod talk;

use talk::Heard;

/// How long the login may take.
const LOGIN_TIME: Duration = Duration::from_secs(5);

/// All blocks of the configuration in force.
#[derive(Debug, Default)]
pub(crate) struct Forwards(RefCell<Vec<Block>>);

#[derive(Debug)]
struct Block {
    /// Without an inbox, which each start makes anew.
    setup: Setup,
    machine: Rc<RefCell<Forward>>,
    task: JoinHandle<()>,
}

impl Drop for Block {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Forwards {
    /// Blocks that are as before go on, the others end and begin.
    pub(crate) fn apply(&self, core: &Rc<Core>, config: &Config) {
        let mut former = std::mem::take(&mut *self.0.borrow_mut());
        let setups = config.forwards.iter().filter_map(|it| setup(config, it));
        let blocks =
            setups.filter_map(
                |setup| match former.iter().position(|block| block.setup == setup) {
                    Some(at) => Some(former.swap_remove(at)),
                    None => begin(core, setup),
                },
            );
        let blocks = blocks.collect();
        for gone in former {
            let name = &gone.setup.options.name;
            tracing::info!(
                "forward {name}: ended; its stream goes on to keep what is published here"
            );
        }
        *self.0.borrow_mut() = blocks;
    }

    /// How each of them is.
    pub(crate) fn statuses(&self) -> Vec<Status> {
        let blocks = self.0.borrow();
        blocks
            .iter()
            .map(|it| it.machine.borrow().status())
            .collect()
    }

    /// The end of all.
    pub(crate) fn stop(&self) {
        self.0.borrow_mut().clear();
    }
}

/// What a configuration that was checked says of a block.
fn setup(config: &Config, options: &frond_config::Forward) -> Option<Setup> {
    let remote = config.remote_of(options)?;
    let mut accounts = config.accounts.iter();
    let account = accounts.find(|account| account.name == remote.account);
    let most = account.and_then(|account| account.limits.max_payload);
    let payload_max = config.limits.max_payload;
    let url = remote
        .urls
        .first()
        .map(|url| format!("{}:{}", url.host, url.port));
    Some(Setup {
        options: options.clone(),
        server_name: config.server_name.clone()?,
        own_domain: config.jetstream.domain.clone(),
        account: remote.account.clone(),
        url: url.unwrap_or_default(),
        inbox: String::new(),
        payload_max: most.map_or(payload_max, |most| most.min(payload_max)),
        line_max: config.limits.max_control_line,
    })
}

fn begin(core: &Rc<Core>, setup: Setup) -> Option<Block> {
    let number = getrandom::u64()
        .map_err(|error| tracing::error!("forward: the system gives no randomness: {error}"))
        .ok()?;
    let own = Setup {
        inbox: format!("_INBOX.{number:x}"),
        ..setup.clone()
    };
    let account = setup.account.clone();
    let machine = Rc::new(RefCell::new(Forward::new(core.clock().now(), own)));
    let task = spawn_local(keep(Rc::clone(core), Rc::clone(&machine), account));
    Some(Block {
        setup,
        machine,
        task,
    })
}

/// Keeps the block connected until the task is aborted.
async fn keep(core: Rc<Core>, machine: Rc<RefCell<Forward>>, account: String) {
    let mut told = String::new();
    loop {
        let why = match connect(&core, &account).await {
            Ok(line) => {
                told.clear();
                converse(&core, &machine, &account, line).await
            }
            Err(why) => why,
        };
        machine.borrow_mut().handle(core.clock().now(), Input::Lost);
        // An account that is yet to come from its operator is waited for without a word each time.
        if told != why {
            tracing::warn!("forward: {why}");
            told = why;
        }
        pause(OWN_LINE_PAUSE).await;
    }
}

/// A line to the server, and what was read of it and not understood yet.
struct Line {
    stream: UnixStream,
    read: Vec<u8>,
    payload_max: usize,
}

async fn connect(core: &Rc<Core>, account: &str) -> Result<Line, String> {
    let stream = within(core).map_err(|error| error.to_string())?;
    let payload_max = core.with_node(|node| node.config().limits.max_payload);
    let mut line = Line {
        stream,
        read: Vec::new(),
        payload_max: usize::try_from(payload_max).unwrap_or(usize::MAX),
    };
    let login = async {
        loop {
            line.fill().await?;
            let (mut heard, mut used) = (Vec::new(), 0);
            while let Some((what, length)) = line.next(used)? {
                used += length;
                heard.push(match what {
                    Heard::Info => Some(hello(account)),
                    Heard::Error(why) => return Err(why.to_owned()),
                    Heard::Pong => None,
                    Heard::Ping | Heard::Fine | Heard::Message(_) => continue,
                });
            }
            line.read.drain(..used);
            for said in heard {
                match said {
                    Some(hello) => line.write(&hello).await?,
                    None => return Ok(()),
                }
            }
        }
    };
    let done = tokio::time::timeout(LOGIN_TIME, login).await;
    done.map_err(|_| "the login took too long".to_owned())??;
    Ok(line)
}

/// A connection to the server that this is a part of.
fn within(core: &Rc<Core>) -> io::Result<UnixStream> {
    let (own, other) = std::os::unix::net::UnixStream::pair()?;
    own.set_nonblocking(true)?;
    other.set_nonblocking(true)?;
    let other = std::os::fd::OwnedFd::from(other);
    listener::welcome_within(core, TcpStream::from_std(other.into())?);
    UnixStream::from_std(own)
}

fn hello(account: &str) -> Vec<u8> {
    let connect = serde_json::json!({
        "verbose": false, "pedantic": false, "name": "forward", "lang": "rust",
        "version": env!("CARGO_PKG_VERSION"), "protocol": 1, "echo": true, "headers": true,
        "no_responders": true, "account": account,
    });
    format!("CONNECT {connect}\r\nPING\r\n").into_bytes()
}

/// Until the connection ends; why it did.
async fn converse(
    core: &Rc<Core>,
    machine: &Rc<RefCell<Forward>>,
    account: &str,
    mut line: Line,
) -> String {
    let now = || core.clock().now();
    machine.borrow_mut().handle(now(), Input::Connected);
    loop {
        let trust = Input::Trust(core.clock().trust() == frond_clock::Trust::Trusted);
        machine.borrow_mut().handle(now(), trust);
        let said = outputs(machine);
        if !said.is_empty()
            && let Err(why) = line.write(&said).await
        {
            return why;
        }
        let deadline = machine.borrow().deadline();
        tokio::select! {
            filled = line.fill() => {
                let heard = filled.and_then(|()| line.hear(core, machine));
                if let Err(why) = heard {
                    return why;
                }
            }
            () = until(core, deadline) => {
                let takes = core.with_node(|node| node.hub_payload_max(account));
                machine.borrow_mut().handle(now(), Input::HubTakes(takes));
            }
        }
    }
}

/// Everything the block wants to say, as the protocol says it.
fn outputs(machine: &Rc<RefCell<Forward>>) -> Vec<u8> {
    let mut said = Vec::new();
    while let Some(output) = machine.borrow_mut().poll() {
        match output {
            Output::Subscribe { subject, sid } => {
                said.extend_from_slice(format!("SUB {subject} {sid}\r\n").as_bytes());
            }
            Output::Publish(letter) => talk::publish(&mut said, &letter),
            Output::Log(Level::Info, text) => tracing::info!("{text}"),
            Output::Log(Level::Warn, text) => tracing::warn!("{text}"),
        }
    }
    said
}

async fn until(core: &Rc<Core>, deadline: Option<Instant>) {
    match deadline {
        Some(at) => tokio::time::sleep_until(core.clock().system(at).into()).await,
        None => std::future::pending().await,
    }
}

impl Line {
    async fn fill(&mut self) -> Result<(), String> {
        self.read.reserve(READ_BYTES);
        let read = self.stream.read_buf(&mut self.read).await;
        match read.map_err(|error| error.to_string())? {
            0 => Err("the server closed the connection".to_owned()),
            _ => Ok(()),
        }
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        let written = self.stream.write_all(bytes).await;
        written.map_err(|error| error.to_string())
    }

    fn next(&self, from: usize) -> Result<Option<(Heard<'_>, usize)>, String> {
        let rest = self.read.get(from..).unwrap_or_default();
        talk::next(rest, self.payload_max).map_err(str::to_owned)
    }

    /// Everything that is whole.
    fn hear(&mut self, core: &Rc<Core>, machine: &Rc<RefCell<Forward>>) -> Result<(), String> {
        let (mut used, mut is_pinged) = (0, false);
        while let Some((heard, length)) = self.next(used)? {
            match heard {
                Heard::Message(message) => {
                    let now = core.clock().now();
                    machine.borrow_mut().handle(now, Input::Message(message));
                }
                Heard::Ping => is_pinged = true,
                Heard::Error(why) => tracing::warn!("forward: the server says {why}"),
                Heard::Info | Heard::Pong | Heard::Fine => {}
            }
            used += length;
        }
        self.read.drain(..used);
        if is_pinged {
            // One word finds room, or the server does not read at all and closes the line.
            let _ = self.stream.try_write(b"PONG\r\n");
        }
        Ok(())
    }
}
